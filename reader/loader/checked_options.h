// LoaderOptions as the loader uses them: ranges are checked, and options left open are filled in.
//
// A new option has its member in sluice/loader_options.h and its line in loader_option_list.h, from
// which its range and its keyword in Python come. `sluice-bench epoch` gets its flag where
// bench/epoch names the member. What the option does is written by hand: if it takes memory,
// memory_bound.cpp counts that; if it changes the order, resume.cpp compares it; if it changes what
// batches hold, BatchRecipe, PlainCopy::Serves(), RowsAreFixed() (cached_rows.cpp) and
// description.cpp must know. This file checks which options go together.
#pragma once

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_facts.h"
#include "reader/order/deal.h"

namespace sluice {

// Throws Error(kInvalidArgument) unless LoaderOptions::stage is empty or complete.
void CheckStage(const LoaderOptions& options);

// Returns the options with those left open filled in: `threads` gets the largest value that tuning
// may choose, as does `ring.prefetch` if that is fixed (BatchRecipe fills it in otherwise),
// `ranks.rank` and `ranks.world_size` those of the environment.
// Throws Error(kInvalidArgument).
LoaderOptions CheckedOptions(const DatasetFacts& dataset, LoaderOptions options);

// Throws Error(kInvalidArgument) if the epoch has no batches, and says why and what to change.
// `options` are checked ones.
void CheckEpoch(const DatasetFacts& dataset, const LoaderOptions& options, std::uint64_t epoch,
                const EpochSize& size);

}  // namespace sluice
