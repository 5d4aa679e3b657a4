// A dataset on disk as the editing functions see it: its manifest, and its samples as they are
// stored.
#pragma once

#include <filesystem>
#include <stop_token>

#include <sluice/error.h>

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

// Throws the Error of the first shard that cannot be what the manifest says of it, before any work
// is done. Ends early when asked to stop.
void RequireShards(const StoredDataset& dataset, const std::stop_token& stop);

// A row of a block as it is stored, its payloads compared with their checksums; the key is left
// empty. A defect is that of a single value.
Defect CopyRow(const Schema& schema, const RowLayout& layout, const BlockView& block,
               std::uint32_t row, EncodedSample& sample);

// Sample number `index` of a shard, with its key. Throws Error(kCorrupt) with the place.
EncodedSample CopySample(const ShardFile& shard, std::uint64_t index);
// The same for whoever copies many in order: `keys`, one for each shard and thread, keeps what was
// decompressed for the one before.
EncodedSample CopySample(const ShardFile& shard, std::uint64_t index, KeyChunk& keys);

// The key of a sample alone; valid until the next call with the same `keys`, which are as above.
std::string_view KeyOf(const ShardFile& shard, std::uint64_t index, KeyChunk& keys);

// The error, which names no file, as one of a sample of this shard: with file, place and key.
Error AtSample(const Error& error, const ShardFile& shard, std::uint64_t index);

}  // namespace sluice
