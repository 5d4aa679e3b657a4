// Opens a dataset of a local folder as if it were in an object store behind a simulated link.
#pragma once

#include "bench/epoch/slow_store.h"
#include "format/disk/checksum.h"
#include "format/disk/manifest.h"
#include "format/remote/cache/cache_folder.h"
#include "format/remote/local_store.h"
#include "reader/dataset/dataset_state.h"

namespace sluice::test {

// The name that a cache gives the folder of a dataset whose shards it does not know yet.
inline std::string CacheNameOf(const std::filesystem::path& dataset) {
  Id128 id;
  CachedShards shards;
  for (const ManifestShard& shard : ReadManifest(dataset, id).shards)
    shards.push_back({shard.id, shard.digest, shard.bytes, shard.blocks});
  return ToHex(Hash128(std::as_bytes(std::span(shards))));
}

inline Dataset OpenRemote(const std::filesystem::path& folder, const SlowLink& link = {}) {
  return DatasetOf(
      DatasetState::Open(std::make_shared<SlowStore>(std::make_shared<LocalStore>(folder), link)));
}

}  // namespace sluice::test
