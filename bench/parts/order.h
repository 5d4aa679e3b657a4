// `sluice-bench order`: the cost of setting up and drawing an epoch's order, and how well the order
// shuffles. It is compared with the usual way, a shuffled list of all samples.
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
  std::function<std::uint32_t(std::uint64_t)> class_of;  // by sample index
};

struct OrderTask {
  const DatasetShape* shape = nullptr;
  std::uint64_t seed = 0;
  std::uint32_t lanes = 192;
  std::uint64_t rounds = 3;
  std::uint64_t batch = 1024;  // samples in a batch; its distinct classes are counted
  std::vector<ClassLayout> layouts;
  std::uint64_t most_ranked = 20'000'000;  // with more samples: no correlation, to save memory
};

struct OrderFigures {
  std::string mode;                      // "quasi_random", "random", "sequential", "list"
  std::vector<double> setup_seconds;     // by round
  std::vector<double> draw_nanoseconds;  // per sample, over a whole epoch; one value for each round
  std::uint64_t memory_bytes = 0;        // heap growth, at the epoch's end
  std::vector<double> classes;           // by layout: mean number of different classes in a batch
  std::optional<double> rank_correlation;  // of the positions of all samples in consecutive epochs
};

// Measures every mode in turn, round after round, "list" last. Throws Interrupted.
std::vector<OrderFigures> MeasureOrders(const OrderTask& task, const std::stop_token& stop);

double SecondsSince(std::chrono::steady_clock::time_point begin);
// The bytes that are allocated on the heap of this process.
std::uint64_t HeapBytes();

// Spearman's rank correlation of two lists of the positions of samples 0, 1, ...: permutations of 0
// .. n - 1.
double RankCorrelation(const std::vector<std::uint32_t>& before,
                       const std::vector<std::uint32_t>& after);

// The shape of a made-up dataset in shards of 64 MB.
DatasetShape MadeUpShape(std::uint64_t samples, std::uint32_t block_samples,
                         std::uint64_t sample_bytes);

// A shape with `samples` samples, whose blocks and samples are as large as those of `like`.
DatasetShape ShapeLike(const DatasetShape& like, std::uint64_t samples);

// Epochs dealt to ranks (ranks.cpp): each number of ranks, by lanes and by whole shards, for the
// given shape and for made-up shapes like it.
struct RanksStudy {
  const DatasetShape* shape = nullptr;
  std::vector<std::uint64_t> samples;  // sizes of the made-up shapes
  std::vector<unsigned> ranks;
  std::uint64_t seed = 0;
  std::uint32_t lanes = 192;  // at least; rounded up, so that ranks read whole lanes
  std::uint64_t batch = 256;  // batch size of each rank
};
// Draws first epochs to find what a rank must set up, hold and read. Adds a table and the member
// "ranks". Throws Interrupted.
void ReportRanks(const RanksStudy& study, PartResult& part, const std::stop_token& stop,
                 cli::Progress& progress);

}  // namespace sluice::bench
