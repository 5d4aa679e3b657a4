// A dataset on disk as the editing functions see it: its manifest, and its samples as they are
// stored.
#pragma once

#include <filesystem>

#include "format/disk/keys.h"
#include "format/disk/manifest.h"
#include "format/disk/shard.h"

namespace sluice {

struct StoredDataset {
  explicit StoredDataset(const std::filesystem::path& path)
      : folder(path), manifest(ReadManifest(path, id)) {}

  // Shard number `shard`, held against the manifest.
  ShardFile Open(std::size_t shard) const;

  std::filesystem::path folder;
  Id128 id;
  Manifest manifest;
};

// A row of a block as it is stored, its payloads compared with their checksums; the key is left
// empty. A defect is that of a single value.
Defect CopyRow(const Schema& schema, const RowLayout& layout, const BlockView& block,
               std::uint32_t row, EncodedSample& sample);

// Sample number `index` of a shard, with its key. Throws Error(kCorrupt) with the place.
EncodedSample CopySample(const ShardFile& shard, std::uint64_t index);
// The same for whoever copies many in order: `keys`, one for each shard and thread, keeps what was
// decompressed for the one before.
EncodedSample CopySample(const ShardFile& shard, std::uint64_t index, KeyChunk& keys);

}  // namespace sluice
