// How fast files are read from their disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <vector>

namespace sluice::bench {

struct DiskRate {
  double bytes_per_second = 0;
  std::uint64_t bytes = 0;  // bytes read for the measurement
  bool direct = true;       // past the page cache; false: the file system does not support that
  bool in_memory = false;   // the files are in a file system in memory: this is not a disk's rate
};

// Reads pieces of 1 MiB of the files in random order, with eight readers, past the page cache (or,
// if that is impossible, after the files have been dropped from it), until `seconds` have passed or
// everything has been read. Throws Error(kIo).
DiskRate MeasureDiskRate(const std::vector<std::filesystem::path>& files, double seconds,
                         const std::stop_token& stop);

// As above with a file of 64 MiB, which is written into `folder` and removed again: if there are
// only small files to read, this is the rate of shards there.
DiskRate MeasureDiskRateIn(const std::filesystem::path& folder, double seconds,
                           const std::stop_token& stop);

}  // namespace sluice::bench
