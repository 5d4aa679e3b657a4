// How long loaders take to stop that are dropped in the middle of an epoch.
#pragma once

#include <stop_token>
#include <vector>

#include "bench/epoch/run.h"
#include "bench/report/interrupted.h"

namespace sluice::bench {

// Seconds from letting go of the loader to having it gone, of so many loaders, each a few batches
// further into its epoch. Throws Error, and Interrupted where the stop token asked for it.
std::vector<double> MeasureStops(const EpochOptions& options, std::uint64_t loaders,
                                 const std::stop_token& stop);

}  // namespace sluice::bench
