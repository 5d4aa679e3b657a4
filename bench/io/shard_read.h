// Reads a dataset's shards without decoding anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <vector>

#include "bench/report/interrupted.h"

namespace sluice::bench {

struct ReadRates {
  std::uint64_t bytes = 0;   // of all files
  std::vector<double> disk;  // bytes a second, by round: in order, past the page cache
  std::vector<double>
      direct_blocks;  // blocks in random order, as LoaderOptions::storage = Direct does
  std::vector<double> cold_blocks;        // blocks in random order, from an empty cache
  std::vector<double> warm_blocks;        // as above, from the page cache
  std::uint64_t left_in_cache_bytes = 0;  // bytes that could not be dropped before a cold round
  bool uring = false;                     // direct_blocks are read by io_uring; false: by threads
  bool direct = true;                     // the file system lets reads go past the page cache
};

// Each round reads everything four times, with `threads` readers of blocks, and takes the blocks in
// another order. Throws Error(kIo), Interrupted.
ReadRates MeasureReading(const std::filesystem::path& dataset, unsigned threads,
                         std::uint64_t rounds, const std::stop_token& stop);

}  // namespace sluice::bench
