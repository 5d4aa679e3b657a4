// Throughput by the number of decoding threads, and the share of the work that does not run in
// parallel.
#pragma once

#include <functional>
#include <vector>

#include "bench/epoch/run.h"
#include "bench/report/statistics.h"

namespace sluice::bench {

struct ThreadPoint {
  unsigned threads = 0;
  std::vector<double> images_per_second;  // by epoch
  double cpu_seconds_per_1000 = 0;        // median
};

struct ThreadCurve {
  std::vector<ThreadPoint> points;
  SerialShare fit;    // over points of at most `cpus` threads; needs at least two
  unsigned cpus = 0;  // more threads than this cannot be faster
};

// One epoch for each number of threads, in turn, options.epochs times over, so that disturbances on
// the machine affect all numbers alike.
ThreadCurve MeasureThreadCurve(const EpochOptions& options, const std::vector<unsigned>& threads,
                               const EpochHooks& hooks);

}  // namespace sluice::bench
