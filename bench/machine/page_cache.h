// Drops files from the page cache, and counts the pages that stayed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace sluice::bench {

// The files of the dataset in `folder`, manifest first.
std::vector<std::filesystem::path> DatasetFiles(const std::filesystem::path& folder);

// Asks the kernel to drop the files' pages (fdatasync, then POSIX_FADV_DONTNEED). Pages that a
// process has mapped stay, and a file system in memory drops nothing. Throws Error(kIo).
void DropFromPageCache(const std::vector<std::filesystem::path>& files);

struct Residency {
  std::uint64_t resident_bytes = 0;
  std::uint64_t total_bytes = 0;
};
// By mincore(); in whole pages.
Residency InPageCache(const std::vector<std::filesystem::path>& files);

}  // namespace sluice::bench
