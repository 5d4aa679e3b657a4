#include "tests/fuzz/forged_shard.h"

#include <algorithm>

#include "format/disk/checksum.h"
#include "format/disk/shard.h"

namespace sluice::fuzz {

std::span<std::byte> PartOf(Bytes sound, std::span<std::byte> file, const Change& change) {
  const std::size_t tail_at = sound.size() - sizeof(ShardTail);
  const auto tail = LoadAt<ShardTail>(sound, tail_at);
  const auto directory = LoadAt<DirectoryHeader>(sound, tail.directory_offset);
  const std::size_t blocks_at = tail.directory_offset + sizeof(DirectoryHeader);
  const auto block =
      LoadAt<BlockEntry>(sound, blocks_at + change.which % directory.blocks * sizeof(BlockEntry));
  const auto section =
      LoadAt<SectionEntry>(sound, blocks_at + directory.blocks * sizeof(BlockEntry) +
                                      change.which % directory.sections * sizeof(SectionEntry));
  switch (change.place) {
    case kHeader: return file.first(sizeof(ShardHeader));
    case kBlock: return file.subspan(block.offset, sizeof(BlockHeader));
    case kTable:
      return file.subspan(
          block.offset + sizeof(BlockHeader),
          std::size_t{block.count} * LoadAt<BlockHeader>(sound, block.offset).row_bytes);
    case kSection: return file.subspan(section.offset, section.bytes);
    case kDirectory: return file.subspan(tail.directory_offset, tail.directory_bytes);
    default: return file.subspan(tail_at);
  }
}

void SetSchema(std::span<std::byte> file, const std::string& text) {
  auto header = LoadAt<ShardHeader>(file, 0);
  if (sizeof(header) + text.size() > header.header_bytes) return;
  const auto place = file.subspan(sizeof(header), header.header_bytes - sizeof(header));
  std::fill(place.begin(), place.end(), std::byte{0});
  std::copy_n(AsBytes(text).begin(), text.size(), place.begin());
  header.schema_bytes = static_cast<std::uint32_t>(text.size());
  StoreAt(file, 0, header);
}

void MakeAgree(Bytes sound, std::span<std::byte> file, std::uint8_t left) {
  const Id128 id = LoadAt<ShardHeader>(file, 0).shard_id;
  const std::size_t tail_at = sound.size() - sizeof(ShardTail);
  auto tail = LoadAt<ShardTail>(file, tail_at);
  const std::uint64_t directory_at = LoadAt<ShardTail>(sound, tail_at).directory_offset;
  const std::uint32_t blocks = LoadAt<DirectoryHeader>(sound, directory_at).blocks;
  auto directory = LoadAt<DirectoryHeader>(file, directory_at);
  std::uint64_t samples = 0;
  for (std::uint32_t b = 0; b < blocks; ++b) {
    const std::size_t entry_at = directory_at + sizeof(directory) + b * sizeof(BlockEntry);
    auto entry = LoadAt<BlockEntry>(file, entry_at);
    const std::uint64_t block_at = LoadAt<BlockEntry>(sound, entry_at).offset;
    auto block = LoadAt<BlockHeader>(file, block_at);
    if ((left & kIds) == 0) block.shard_id = id;
    StoreAt(file, block_at, block);
    samples += block.count;
    if ((left & kCounts) != 0) continue;
    entry.bytes = block.bytes;
    entry.count = block.count;
    StoreAt(file, entry_at, entry);
  }
  if ((left & kCounts) == 0) directory.samples = samples;
  if ((left & kIds) == 0) directory.shard_id = tail.shard_id = id;
  StoreAt(file, directory_at, directory);
  StoreAt(file, tail_at, tail);
}

void FollowShard(Bytes file, ManifestShard& line, std::uint8_t left) {
  line.bytes = file.size();
  if (file.size() < sizeof(ShardHeader) + sizeof(ShardTail)) return;
  const Bytes tail = file.last(sizeof(ShardTail));
  const auto end = LoadAt<ShardTail>(tail, 0);
  if (!Inside(end.directory_offset, end.directory_bytes, file.size())) return;
  const Bytes directory = file.subspan(end.directory_offset, end.directory_bytes);
  line.digest = Hash128({directory, tail});
  if ((left & kShardLines) != 0 || directory.size() < sizeof(DirectoryHeader)) return;
  const auto header = LoadAt<ShardHeader>(file, 0);
  const auto counts = LoadAt<DirectoryHeader>(directory, 0);
  line.id = header.shard_id;
  line.block_samples = header.block_samples;
  line.samples = counts.samples;
  line.blocks = counts.blocks;
}

}  // namespace sluice::fuzz
