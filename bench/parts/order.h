// `sluice-bench order`: the cost of setting up and drawing an epoch's order, and how well it
// shuffles. For comparison, the usual way: a list of all samples, shuffled.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/report/result.h"
#include "reader/order/order.h"

namespace sluice::bench {

// One possible placement of classes in a dataset.
struct ClassLayout {
  std::string name;                                      // "sorted by class"
  std::function<std::uint32_t(std::uint64_t)> class_of;  // of a sample, by its number
};

struct OrderTask {
  const DatasetShape* shape = nullptr;
  std::uint64_t seed = 0;
  std::uint32_t lanes = 192;
  std::uint64_t rounds = 3;
  std::uint64_t batch = 1024;  // batch in which distinct classes are counted
  std::vector<ClassLayout> layouts;
  std::uint64_t most_ranked = 20'000'000;  // more samples are not ranked: that takes memory
};

struct OrderFigures {
  std::string mode;                        // "quasi_random", "random", "sequential", "list"
  std::vector<double> setup_seconds;       // by round
  std::vector<double> draw_nanoseconds;    // a sample, over a whole epoch, by round
  std::uint64_t memory_bytes = 0;          // taken from the heap, at the epoch's end
  std::vector<double> classes;             // for each layout: distinct in a batch, on average
  std::optional<double> rank_correlation;  // of the positions of all samples in consecutive epochs
};

// Measures every mode in turn, round after round, "list" last. Throws Interrupted.
std::vector<OrderFigures> MeasureOrders(const OrderTask& task, const std::stop_token& stop);

double SecondsSince(std::chrono::steady_clock::time_point begin);
// Taken from the heap, by this thread's arena.
std::uint64_t HeapBytes();

// Spearman's, for two lists of the positions of samples 0, 1, ...: permutations of 0 .. n - 1.
double RankCorrelation(const std::vector<std::uint32_t>& before,
                       const std::vector<std::uint32_t>& after);

// A made-up dataset: shards of 64 MB, with the given samples, samples of a block and bytes of a
// block.
DatasetShape MadeUpShape(std::uint64_t samples, std::uint32_t block_samples,
                         std::uint64_t sample_bytes);

// A shape with so many samples, whose blocks and samples are as large as those of `like`.
DatasetShape ShapeLike(const DatasetShape& like, std::uint64_t samples);

// Epochs dealt to ranks (ranks.cpp): for the shape and for made-up ones like it, each number of
// ranks, by lanes and by whole shards.
struct RanksStudy {
  const DatasetShape* shape = nullptr;
  std::vector<std::uint64_t> samples;  // of the made-up shapes
  std::vector<unsigned> ranks;
  std::uint64_t seed = 0;
  std::uint32_t lanes = 192;  // at least; ranks read whole lanes
  std::uint64_t batch = 256;  // of one rank
};
// Finds by drawing what a rank has to set up, to hold and to read in its first epoch: a table, and
// the member "ranks". Throws Interrupted.
void ReportRanks(const RanksStudy& study, PartResult& part, const std::stop_token& stop,
                 cli::Progress& progress);

}  // namespace sluice::bench
