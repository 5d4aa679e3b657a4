// How long a loader takes to stop if it is dropped in the middle of an epoch.
#pragma once

#include <stop_token>
#include <vector>

#include "bench/epoch/run.h"
#include "bench/report/interrupted.h"

namespace sluice::bench {

// The seconds that destroying a loader takes, for this many loaders, each a few batches further
// into its epoch. Throws Error, and Interrupted if the stop token requests it.
std::vector<double> MeasureStops(const EpochOptions& options, std::uint64_t loaders,
                                 const std::stop_token& stop);

}  // namespace sluice::bench
