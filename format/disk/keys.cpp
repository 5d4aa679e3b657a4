// The parts of the section, and of the content of each frame:
//    section  | header | entry 0 | entry 1 | ... | frame 0 | frame 1 | ...
//    content  | end of key 0 | end of key 1 | ... | text of all keys |
//
// An entry has the sizes of its frame and content, but no offset: that is the sum of the frames
// before it. So FindFrame() continues from the chunk that was read last. All sizes come from a file
// that may be damaged: they are checked before memory is allocated, and `count` stays 0 until all
// of a chunk's keys have passed.
#include "format/disk/keys.h"

#include <algorithm>

#include "format/disk/limits.h"
#include "format/disk/zstd.h"

namespace sluice {

namespace {
constexpr std::uint32_t kChunkSamples = kMaxKeyChunkSamples;

struct SectionHeader {
  std::uint32_t chunk_samples = kChunkSamples;  // in every chunk but the last
  std::uint32_t chunks = 0;
};
struct ChunkEntry {
  std::uint32_t frame_bytes = 0;
  std::uint32_t content_bytes = 0;
};
}  // namespace

void KeysBuilder::Add(std::string_view key) {
  text_ += key;
  ends_.push_back(static_cast<std::uint32_t>(text_.size()));
  if (ends_.size() == kChunkSamples) CloseChunk();
}

void KeysBuilder::CloseChunk() {
  if (ends_.empty()) return;
  std::vector<std::byte> content(ends_.size() * sizeof(std::uint32_t) + text_.size());
  std::memcpy(content.data(), ends_.data(), ends_.size() * sizeof(std::uint32_t));
  std::memcpy(content.data() + ends_.size() * sizeof(std::uint32_t), text_.data(), text_.size());
  chunks_.push_back({static_cast<std::uint32_t>(content.size()), ZstdCompress(content)});
  frame_bytes_ += chunks_.back().frame.size();
  ends_.clear();
  text_.clear();
}

std::uint64_t KeysBuilder::BoundBytes() const noexcept {
  const std::uint64_t pending = text_.size() + ends_.size() * sizeof(std::uint32_t);
  // zstd adds far less than 1/128 + 1 KiB to bytes that it cannot compress.
  return sizeof(SectionHeader) + (chunks_.size() + 1) * sizeof(ChunkEntry) + frame_bytes_ +
         pending + pending / 128 + 1024;
}

std::vector<std::byte> KeysBuilder::Finish() {
  CloseChunk();
  SectionHeader header;
  header.chunks = static_cast<std::uint32_t>(chunks_.size());
  std::vector<std::byte> section(sizeof(header) + chunks_.size() * sizeof(ChunkEntry));
  StoreAt<SectionHeader>(section, 0, header);
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const ChunkEntry entry{static_cast<std::uint32_t>(chunks_[i].frame.size()),
                           chunks_[i].content_bytes};
    StoreAt<ChunkEntry>(section, sizeof(header) + i * sizeof(entry), entry);
  }
  for (const Chunk& chunk : chunks_) {
    section.insert(section.end(), chunk.frame.begin(), chunk.frame.end());
  }
  return section;
}

std::string_view KeyChunk::Key(std::uint64_t index) const noexcept {
  const std::uint64_t i = index - first;
  const std::uint64_t text = count * sizeof(std::uint32_t);
  const std::uint32_t begin =
      i == 0 ? 0 : LoadAt<std::uint32_t>(content, (i - 1) * sizeof(std::uint32_t));
  const auto end = LoadAt<std::uint32_t>(content, i * sizeof(std::uint32_t));
  return AsText(Bytes(content).subspan(text + begin, end - begin));
}

namespace {

ChunkEntry EntryOf(Bytes section, std::uint64_t chunk) noexcept {
  return LoadAt<ChunkEntry>(section, sizeof(SectionHeader) + chunk * sizeof(ChunkEntry));
}

// Moves `chunk` to the chunk number `wanted`: sets its number and its frame's offset. If `chunk` is
// new, also checks that all frames together fill the section.
Defect FindFrame(Bytes section, std::uint64_t chunks, std::uint64_t wanted, KeyChunk& chunk) {
  const std::uint64_t frames = sizeof(SectionHeader) + chunks * sizeof(ChunkEntry);
  if (chunk.offset == 0) {
    std::uint64_t end = frames;
    for (std::uint64_t i = 0; i < chunks; ++i)
      end += EntryOf(section, i).frame_bytes;
    if (end != section.size()) return "the keys do not fill their section";
  }
  if (chunk.offset == 0 || chunk.number > wanted) {
    chunk.number = 0;
    chunk.offset = frames;
  }
  for (; chunk.number < wanted; ++chunk.number)
    chunk.offset += EntryOf(section, chunk.number).frame_bytes;
  return nullptr;
}

}  // namespace

Defect ReadKeyChunk(Bytes section, std::uint64_t samples, std::uint64_t index, KeyChunk& chunk,
                    std::uint64_t most) {
  if (chunk.Holds(index)) return nullptr;
  chunk.count = 0;  // until the chunk is complete
  if (index >= samples || section.size() < sizeof(SectionHeader)) return "the keys are cut short";
  const auto header = LoadAt<SectionHeader>(section, 0);
  if (header.chunk_samples == 0 || header.chunk_samples > kMaxKeyChunkSamples ||
      header.chunks != (samples + header.chunk_samples - 1) / header.chunk_samples ||
      !Inside(sizeof(header), std::uint64_t{header.chunks} * sizeof(ChunkEntry), section.size())) {
    return "the keys' sizes are out of range";
  }
  if (const Defect defect =
          FindFrame(section, header.chunks, index / header.chunk_samples, chunk)) {
    return defect;
  }
  const ChunkEntry entry = EntryOf(section, chunk.number);
  if (!Inside(chunk.offset, entry.frame_bytes, section.size())) {
    return "the keys do not fill their section";  // the file was changed meanwhile
  }
  const Bytes frame = section.subspan(chunk.offset, entry.frame_bytes);
  chunk.first = chunk.number * header.chunk_samples;
  const std::uint64_t count = std::min<std::uint64_t>(header.chunk_samples, samples - chunk.first);
  const std::uint64_t ends = count * sizeof(std::uint32_t);
  if (entry.content_bytes < ends || entry.content_bytes > ends + count * kMaxKeyBytes ||
      ZstdContentBytes(frame) != entry.content_bytes) {
    return "the keys' sizes are out of range";
  }
  if (entry.content_bytes > most) return kKeyChunkTooLarge;
  chunk.content.resize(entry.content_bytes);
  if (!ZstdDecompress(frame, chunk.content)) {
    return "the keys cannot be decompressed";
  }
  std::uint32_t previous = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto end = LoadAt<std::uint32_t>(chunk.content, i * sizeof(std::uint32_t));
    if (end < previous || end > entry.content_bytes - ends) return "the keys overlap";
    if (end - previous > kMaxKeyBytes) {
      chunk.first += i;
      return kKeyTooLong;
    }
    previous = end;
  }
  if (previous != entry.content_bytes - ends) return "the keys do not fill their chunk";
  chunk.count = count;
  return nullptr;
}

Defect ReadKey(Bytes section, std::uint64_t samples, std::uint64_t index, std::string& key) {
  KeyChunk chunk;
  if (const Defect defect = ReadKeyChunk(section, samples, index, chunk)) return defect;
  key = chunk.Key(index);
  return nullptr;
}

}  // namespace sluice
