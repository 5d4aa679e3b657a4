// An epoch dealt to ranks: what each has to set up, hold and read, found by drawing it.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "reader/order/shape.h"

namespace sluice::bench {

struct RanksTask {
  const DatasetShape* shape = nullptr;
  unsigned ranks = 1;
  bool by_shards = false;  // whole shards are dealt, not lanes
  std::uint64_t seed = 0;
  std::uint32_t lanes = 192;            // at least; ranks read whole lanes
  std::uint64_t batch = 256;            // of one rank
  std::uint64_t most_rows = 5'000'000;  // drawn of each rank looked at; the rest is in proportion
};

struct RanksFigures {
  std::uint32_t lanes = 0;
  // Of some ranks, spread over all: the largest of each, unless said otherwise.
  double setup_seconds = 0;              // of an epoch's order
  double first_batch_seconds = 0;        // to draw it
  std::uint64_t memory_bytes = 0;        // of the order, once its rows are drawn
  std::uint64_t first_batch_bytes = 0;   // of the blocks that its first batch opens
  std::uint64_t rows = 0;                // of the epoch
  std::uint64_t fewest = 0;              // samples dealt to a rank, of all ranks
  double read_least = 0, read_most = 0;  // bytes of opened blocks, in shares of the dataset / ranks
};

// Throws cli::UsageError if the dataset cannot be dealt so, Interrupted.
RanksFigures SimulateRanks(const RanksTask& task, const std::stop_token& stop);

}  // namespace sluice::bench
