// Shards and their sections of keys.
#include <algorithm>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/keys.h"
#include "format/disk/limits.h"
#include "format/disk/shard.h"
#include "tests/format/example.h"
#include "tests/fuzz/reseal.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

namespace {

const std::vector<std::vector<std::byte>>& BaseShards() {
  static const std::vector<std::vector<std::byte>> shards = [] {
    std::vector<std::vector<std::byte>> all;
    for (const auto& dataset : {test::WorkedExample(), test::VariedExample()}) {
      for (const auto& shard : dataset.shards)
        all.push_back(shard.bytes);
    }
    return all;
  }();
  return shards;
}

// The offsets of the structures: of the bytes that are not zero, and of up to 15 zeros after each.
std::vector<std::uint32_t> InhabitedOffsets(Bytes file) {
  std::vector<std::uint32_t> offsets;
  std::uint32_t zeros = 64;
  for (std::uint32_t at = 0; at < file.size(); ++at) {
    zeros = file[at] == std::byte{0} ? zeros + 1 : 0;
    if (zeros < 16) offsets.push_back(at);
  }
  return offsets;
}

// The input has a shard's number, a number of pages to add or remove, and patches: an index into
// InhabitedOffsets() (16 bits), a length, and that many bytes.
std::vector<std::byte> PatchedShard(Bytes input) {
  InputReader reader(input);
  std::vector<std::byte> file = BaseShards()[reader.Take<std::uint8_t>() % BaseShards().size()];
  const auto pages = reader.Take<std::int8_t>();
  static const auto inhabited = [] {
    std::vector<std::vector<std::uint32_t>> all;
    for (const auto& shard : BaseShards())
      all.push_back(InhabitedOffsets(shard));
    return all;
  }();
  const auto& offsets =
      inhabited[std::to_integer<std::size_t>(input.empty() ? std::byte{0} : input[0]) %
                BaseShards().size()];
  while (!reader.empty()) {
    const std::size_t at = offsets[reader.Take<std::uint16_t>() % offsets.size()];
    const std::size_t length = reader.Take<std::uint8_t>() % 9;
    for (std::size_t i = 0; i < length && at + i < file.size(); ++i) {
      file[at + i] = reader.Take<std::byte>();
    }
  }
  // Adds or removes pages before the tail, so that there still is a tail.
  if (pages > 0 && pages <= 4) {
    file.insert(file.end() - 64, static_cast<std::size_t>(pages) * 4096, std::byte{0});
  } else if (pages < 0 && file.size() > static_cast<std::size_t>(-pages) * 4096 + 64) {
    file.erase(file.end() - 64 + std::ptrdiff_t{pages} * 4096, file.end() - 64);
  }
  return file;
}

void ReadRow(const ShardFile& shard, const BlockView& view, std::uint32_t row) {
  for (std::size_t f = 0; f < shard.schema().fields.size(); ++f) {
    const Field& field = shard.schema().fields[f];
    if (field.kind == FieldKind::kArray) {
      (void)Hash64(view.Elements(shard.layout(), row, f));
      continue;
    }
    BlockView::Payload payload;
    if (view.GetPayload(shard.layout(), row, f, payload) == nullptr) (void)Hash64(payload.bytes);
    if (field.kind != FieldKind::kImage) continue;
    ImagePayload image;
    std::uint64_t checksum = 0;
    if (view.GetImage(shard.layout(), row, f, image, checksum) == nullptr) {
      (void)Hash64(image.bytes);
      Promise(image.codec == Codec::kAbsent ||
                  (image.width > 0 && image.height > 0 && image.channels > 0 &&
                   std::uint64_t{image.width} * image.height <= kMaxImagePixels),
              "an accepted image has a size within the limits");
    }
  }
}

void ReadBlock(const ShardFile& shard, std::uint32_t block) {
  for (int again = 0; again < 2; ++again) {  // the second call finds the block already verified
    try {
      const BlockView view = shard.Block(block);
      if (again != 0) continue;
      (void)view.VerifyPlacement(shard.schema(), shard.layout());
      for (std::uint32_t row = 0; row < view.count(); ++row)
        ReadRow(shard, view, row);
    } catch (const Error&) {
      return;
    }
  }
}

void ReadShard(const ShardFile& shard) {
  (void)shard.VerifyPlacement();
  for (const SectionEntry& section : shard.sections()) {
    try {
      (void)shard.Section(section.number);
    } catch (const Error&) {
    }
  }
  for (std::size_t c = 0; c < ColumnFields(shard.schema()).size(); ++c) {
    (void)Hash64(shard.Column(c));
  }
  for (const std::uint64_t sample : {std::uint64_t{0}, shard.samples() / 2, shard.samples() - 1}) {
    try {
      (void)shard.Key(sample);
    } catch (const Error&) {
    }
  }
  std::uint64_t samples = 0;
  for (std::uint32_t b = 0; b < shard.blocks(); ++b) {
    samples += shard.block_entry(b).count;
    ReadBlock(shard, b);
  }
  Promise(samples == shard.samples(), "the samples of an accepted shard add up");
}

void OpenAndRead(Bytes content) {
  const ScratchFile file(content);
  try {
    const Schema schema = ShardFile::ReadSchema(file.path());
    const ShardFile shard(file.path(), schema);
    ReadShard(shard);
  } catch (const Error&) {
  }
}

}  // namespace

// Reads the shard twice: as patched, and with its checksums corrected.
void RunShard(Bytes input) {
  std::vector<std::byte> file = PatchedShard(input);
  OpenAndRead(file);
  ResealShard(file);
  OpenAndRead(file);
}

std::vector<Input> ShardSeeds() {
  std::vector<Input> seeds;
  for (std::size_t i = 0; i < BaseShards().size(); ++i) {
    seeds.push_back({static_cast<std::byte>(i), std::byte{0}});
    Input patched{static_cast<std::byte>(i), std::byte{0}};
    for (int patch = 0; patch < 12; ++patch) {  // patches that leave most fields as they are
      for (const int byte : {patch * 37, patch, 1, patch % 3}) {
        patched.push_back(static_cast<std::byte>(byte));
      }
    }
    seeds.push_back(std::move(patched));
  }
  return seeds;
}

// The input is the number of samples (32 bits) and the section.
void RunKeys(Bytes input) {
  InputReader reader(input);
  const std::uint64_t samples = reader.Take<std::uint32_t>() % (kMaxShardBytes + 1);
  const Bytes section = reader.rest();
  KeyChunk chunk;
  std::string key;
  std::uint64_t index = 0;
  for (int chunks = 0; chunks < 4 && index < samples; ++chunks) {
    if (ReadKeyChunk(section, samples, index, chunk) != nullptr) break;
    Promise(chunk.first == index && chunk.count > 0 && chunk.count <= samples - index,
            "a chunk begins with the sample that it was read for");
    std::uint64_t bytes = 0;
    for (std::uint64_t i = 0; i < chunk.count; ++i)
      bytes += chunk.Key(index + i).size();
    Promise(bytes + chunk.count * 4 == chunk.content.size(), "keys fill their chunk");
    Promise(ReadKey(section, samples, index, key) == nullptr && key == chunk.Key(index),
            "a key is the same alone and among the others");
    index += chunk.count;
  }
  (void)ReadKey(section, samples, samples / 2, key);
  (void)ReadKey(section, samples, samples, key);
}

std::vector<Input> KeysSeeds() {
  std::vector<Input> seeds;
  for (const std::uint32_t samples : {0U, 1U, 3U, 4100U}) {
    KeysBuilder keys;
    for (std::uint32_t i = 0; i < samples; ++i)
      keys.Add("a/" + std::to_string(i % 50));
    Input seed(sizeof(samples));
    StoreAt<std::uint32_t>(seed, 0, samples);
    const std::vector<std::byte> section = keys.Finish();
    seed.insert(seed.end(), section.begin(), section.end());
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace sluice::fuzz
