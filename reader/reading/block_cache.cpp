#include <algorithm>

#include <sluice/block_cache.h>

#include "format/remote/cache/cache_folder.h"

namespace sluice {

std::vector<CachedDataset> DatasetsInCache(const std::filesystem::path& folder) {
  std::vector<CachedDataset> datasets;
  for (const CacheEntry& entry : EntriesOfCache(folder))
    datasets.push_back({entry.id, entry.bytes, entry.of_bytes, entry.in_use});
  return datasets;
}

std::uint64_t ClearCache(const std::filesystem::path& folder) {
  const auto used = [](const std::vector<CacheEntry>& entries) {
    std::uint64_t bytes = 0;
    for (const CacheEntry& entry : entries)
      bytes += entry.bytes;
    return bytes;
  };
  const std::uint64_t before = used(EntriesOfCache(folder));
  const SharedFolder root = SharedFolder::Open(folder);
  const std::uint64_t left = TrimCache(CacheLock::Wait(root), {}, 0);
  return before - std::min(before, left);
}

}  // namespace sluice
