// LoaderOptions as the loader uses them: ranges are checked, and options left open are filled in.
#pragma once

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_state.h"
#include "reader/order/deal.h"

namespace sluice {

// Throws Error(kInvalidArgument) unless LoaderOptions::stage is empty or complete.
void CheckStage(const LoaderOptions& options);

// Returns the options with those left open filled in: `threads` and `ring.prefetch` get the largest
// value that tuning may choose, `ranks.rank` and `ranks.world_size` those of the environment.
// Throws Error(kInvalidArgument).
LoaderOptions CheckedOptions(const DatasetState& dataset, LoaderOptions options);

// Throws Error(kInvalidArgument) if the epoch has no batches, and says why and what to change.
// `options` are checked ones.
void CheckEpoch(const DatasetState& dataset, const LoaderOptions& options, std::uint64_t epoch,
                const EpochSize& size);

}  // namespace sluice
