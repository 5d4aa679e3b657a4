// The folder in which loaders keep blocks that they have fetched (LoaderOptions::stage).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sluice/error.h>

namespace sluice {

// A dataset of which the folder has blocks.
struct CachedDataset {
  std::string id;              // Dataset::id()
  std::uint64_t bytes = 0;     // size of the dataset's blocks that are in the folder
  std::uint64_t of_bytes = 0;  // size of the whole dataset
  bool in_use = false;         // whether some process uses the dataset
};

// The datasets of which the folder holds blocks; the longest unused comes first. Throws
// Error(kNotFound) if there is no such folder.
std::vector<CachedDataset> DatasetsInCache(const std::filesystem::path& folder);

// Removes all datasets that no process uses. Returns the bytes freed.
std::uint64_t ClearCache(const std::filesystem::path& folder);

}  // namespace sluice
