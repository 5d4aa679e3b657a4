// How fast files come off the disk they lie on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <vector>

namespace sluice::bench {

struct DiskRate {
  double bytes_per_second = 0;
  std::uint64_t bytes = 0;  // read for it
  bool direct = true;       // past the page cache; false: the file system has no such reads
  bool in_memory = false;   // the files lie in a file system in memory: this is no disk's rate
};

// Reads pieces of 1 MiB of the files in random order, with eight readers, past the page cache (or,
// where that cannot be, after the files have been dropped from it), until `seconds` have passed or
// all has been read. Throws Error(kIo).
DiskRate MeasureDiskRate(const std::vector<std::filesystem::path>& files, double seconds,
                         const std::stop_token& stop);

// The same of a file of 64 MiB that is written into `folder` for it and removed again: what shards
// lying there would give, where there are only small files to read.
DiskRate MeasureDiskRateIn(const std::filesystem::path& folder, double seconds,
                           const std::stop_token& stop);

}  // namespace sluice::bench
