// LoaderOptions as the loader uses them: ranges checked, and what was left to the surroundings
// filled in.
#pragma once

#include <sluice/loader.h>

#include "reader/dataset_state.h"
#include "reader/order/deal.h"
#include "reader/order/order.h"

namespace sluice {

// `threads`, `rank` and `world_size` are set in what is returned. Throws Error(kInvalidArgument).
LoaderOptions CheckedOptions(const DatasetState& dataset, LoaderOptions options);

// The parts of the options that make up the order, and the share of this rank.
OrderOptions OrderOptionsOf(const LoaderOptions& options);
DealOptions DealOptionsOf(const LoaderOptions& options);

}  // namespace sluice
