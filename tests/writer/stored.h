// The content of a dataset's folder, read back through format/ and fully verified.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "format/disk/manifest.h"
#include "format/disk/shard.h"
#include "tests/file_content.h"
#include "tests/pictures.h"

namespace sluice::test {

struct StoredField {
  Codec codec = Codec::kAbsent;
  std::uint32_t width = 0, height = 0, channels = 0;
  PixelType pixel_type = PixelType::kUint8;
  std::vector<std::byte> bytes;  // the payload, or an array's elements
};

struct StoredSample {
  std::string key;
  std::vector<StoredField> fields;

  // The first field, decoded by libjpeg if it is a JPEG. Converted datasets hold their image in it.
  Picture Pixels(std::uint32_t channels = 3) const;
  // The second field as a label.
  std::int32_t Label() const { return LoadAt<std::int32_t>(fields.at(1).bytes, 0); }
};

struct StoredDataset {
  Manifest manifest;
  std::vector<StoredSample> samples;       // in the dataset's order
  std::vector<std::uint64_t> block_bytes;  // of every block, in order

  const StoredSample& Find(const std::string& key) const;
  std::vector<std::string> Keys() const;
};

// Throws if any checksum, placement rule or sum is wrong.
StoredDataset ReadDataset(const std::filesystem::path& folder);

// Name -> content of every file in a folder.
std::map<std::string, std::string> ContentsOf(const std::filesystem::path& folder);

}  // namespace sluice::test
