// The bound that Loader::Memory() states.
#pragma once

#include <sluice/loader_memory.h>
#include <sluice/loader_options.h>

#include "reader/batch/batch_recipe.h"

namespace sluice {

// Everything but LoaderMemory::variable and LoaderMemory::device.
LoaderMemory MemoryBound(const BatchRecipe& recipe);

// Bytes of blocks that an epoch has open at once, for a dataset in an object store.
std::uint64_t OpenBound(const BatchRecipe& recipe);

// LoaderMemory::variable. Reads every block's table if the manifest lacks the values' sizes.
std::uint64_t VariableBound(const BatchRecipe& recipe);

// The bytes of one epoch's order, with `window_samples` open for shuffling. `options` are checked
// ones.
std::uint64_t OrderBound(const DatasetShape& shape, const LoaderOptions& options,
                         std::uint64_t window_samples);

// What Loader::Row() adds, once it was called. `row`: the recipe of its batches, `recipe` the
// loader's.
LoaderMemory RowBound(const BatchRecipe& row, const BatchRecipe& recipe);

// Throws Error(kLimit) unless the machine has memory left for so many slots and for an epoch's
// order. Checked before allocating, because a system that overcommits grants the memory and kills
// the program later.
void RequireRoom(const BatchRecipe& recipe, std::size_t slots);

}  // namespace sluice
