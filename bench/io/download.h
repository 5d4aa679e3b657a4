// Fetches a dataset's shards from an object store without decoding anything.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include <sluice/dataset.h>

#include "bench/report/interrupted.h"

namespace sluice::bench {

struct DownloadRates {
  std::uint64_t bytes = 0;              // of all shards
  std::vector<double> download;         // bytes a second, by round: in order, in large ranges
  std::vector<double> blocks;           // blocks in random order, as the loader fetches them
  std::uint64_t block_requests = 0;     // of a round of blocks; an epoch needs as many
  std::uint64_t repeated_requests = 0;  // in all, because one failed or was slow
};

// Each round fetches everything twice, and takes the blocks in another order. `dataset` is one in
// an object store. Throws Error, Interrupted.
DownloadRates MeasureDownload(const Dataset& dataset, std::uint64_t rounds,
                              const std::stop_token& stop);

}  // namespace sluice::bench
