// The bound that Loader::Memory() states.
#pragma once

#include <sluice/loader_memory.h>
#include <sluice/loader_options.h>

#include "reader/batch/batch_recipe.h"

namespace sluice {

// All of it but LoaderMemory::variable and what is on a device.
LoaderMemory MemoryBound(const BatchRecipe& recipe);

// LoaderMemory::variable. Reads every table where the manifest does not know the values' sizes.
std::uint64_t VariableBound(const BatchRecipe& recipe);

// Of an epoch's order, with so many samples open for shuffling. `options` are checked ones.
std::uint64_t OrderBound(const DatasetShape& shape, const LoaderOptions& options,
                         std::uint64_t window_samples);

// Throws Error(kLimit) unless the machine has memory left for so many slots and for an epoch's
// order. Before it is taken: what a system promises more of than it has ends programs later on.
void RequireRoom(const BatchRecipe& recipe, std::size_t slots);

}  // namespace sluice
