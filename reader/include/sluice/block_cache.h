// Lists and clears the folder of a stage (LoaderOptions::stage), in which loaders keep blocks that
// they have read or fetched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sluice/error.h>

namespace sluice {

// A dataset that has blocks in the folder.
struct CachedDataset {
  std::string id;              // Dataset::id()
  std::uint64_t bytes = 0;     // size of the dataset's blocks that are in the folder
  std::uint64_t of_bytes = 0;  // size of the whole dataset
  bool in_use = false;         // whether some process uses the dataset
};

// The datasets that have blocks in the folder, the one unused for longest first. Throws
// Error(kNotFound) if there is no such folder.
std::vector<CachedDataset> DatasetsInCache(const std::filesystem::path& folder);

// Removes the blocks of all datasets that no process uses. Returns the number of bytes freed.
std::uint64_t ClearCache(const std::filesystem::path& folder);

}  // namespace sluice
