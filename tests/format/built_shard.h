// Builds whole shards and datasets in memory from the parts of format/disk, so that tests need no
// writer.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "format/disk/block.h"
#include "format/disk/manifest.h"

namespace sluice::test {

struct BuiltShard {
  std::vector<std::byte> bytes;
  ManifestShard entry;  // all except the file's name
};

// Sections in addition to the keys: their contents, by number.
using ExtraSections = std::map<std::uint32_t, std::string>;

// `extra_flags`: the flags of each section of `extra`.
BuiltShard BuildShard(const Schema& schema, Id128 id, std::uint32_t block_samples,
                      std::span<const EncodedSample> samples, const ExtraSections& extra = {},
                      std::uint32_t extra_flags = 0);

// The manifest of a dataset of these shards, whose files are named shard-00000.sluice and so on.
Manifest ManifestOf(const std::string& name, const Schema& schema,
                    std::span<const BuiltShard> shards, std::span<const EncodedSample> samples);

// Writes the shards and the manifest into a folder that exists.
void WriteDataset(const std::filesystem::path& folder, const Manifest& manifest,
                  std::span<const BuiltShard> shards);

// Values for the fields of an EncodedSample.
template <class T>
FieldValue ArrayValue(std::initializer_list<T> elements) {
  FieldValue value;
  value.bytes.resize(elements.size() * sizeof(T));
  std::memcpy(value.bytes.data(), std::data(elements), value.bytes.size());
  return value;
}
FieldValue PayloadValue(std::string_view bytes, Codec codec = Codec::kRaw);
FieldValue ImageValue(std::uint32_t width, std::uint32_t height, std::uint8_t channels,
                      std::string_view bytes, Codec codec = Codec::kRaw,
                      PixelType type = PixelType::kUint8);

// An id whose bytes are all `byte`.
Id128 IdOf(std::uint8_t byte);

}  // namespace sluice::test
