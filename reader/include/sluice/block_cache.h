// Lists and clears a stage (LoaderOptions::stage): the folder in which loaders keep blocks that
// they have read or fetched. "Cache" in these names is that folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sluice/error.h>

namespace sluice {

// A dataset that has blocks in the folder.
struct CachedDataset {
  // Identifies the dataset's list of shards. So versions of a dataset that have the same shards are
  // one entry. This is not Dataset::id().
  std::string id;
  std::uint64_t bytes = 0;     // size of the dataset's blocks that are in the folder
  std::uint64_t of_bytes = 0;  // size of the whole dataset
  bool in_use = false;         // whether some process uses the dataset
};

// The datasets that have blocks in the folder, in the order of their last use, the latest last.
// Throws Error(kNotFound) if there is no such folder.
std::vector<CachedDataset> DatasetsInCache(const std::filesystem::path& folder);

// Removes the blocks of all datasets that no process uses. Returns the number of bytes freed.
std::uint64_t ClearCache(const std::filesystem::path& folder);

}  // namespace sluice
