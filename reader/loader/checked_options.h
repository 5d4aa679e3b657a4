// LoaderOptions as the loader uses them: ranges checked, and what was left to the surroundings
// filled in.
#pragma once

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_state.h"
#include "reader/loader/self_tuning.h"
#include "reader/order/deal.h"

namespace sluice {

// Sets what was left open in what it returns: `threads` and `ring.prefetch`, to the most that there
// can be, and `ranks.rank` and `ranks.world_size`. Throws
// Error(kInvalidArgument).
LoaderOptions CheckedOptions(const DatasetState& dataset, LoaderOptions options);

// Throws Error(kInvalidArgument) for an epoch of no batches, which nobody wants: says why it has
// none, and what to change. `options` are checked.
void CheckEpoch(const DatasetState& dataset, const LoaderOptions& options, std::uint64_t epoch,
                const EpochSize& size);

// What the loader chooses of these by itself, for options as the user gave them.
SelfTuning TuningFor(const LoaderOptions& options);

}  // namespace sluice
