// The bound that Loader::Memory() states.
#pragma once

#include <sluice/loader_memory.h>
#include <sluice/loader_options.h>

#include "reader/batch/slot_layout.h"
#include "reader/dataset/dataset_state.h"

namespace sluice {

// `options` are checked ones. All of it but LoaderMemory::variable and what is on a device.
LoaderMemory MemoryBound(const DatasetState& dataset, const LoaderOptions& options,
                         const SlotLayout& layout);

// Of an epoch's order, with so many samples open for shuffling.
std::uint64_t OrderBound(const DatasetShape& shape, const LoaderOptions& options,
                         std::uint64_t window_samples);

// LoaderMemory::variable. Reads every table where the manifest does not know the values' sizes.
std::uint64_t VariableBound(DatasetState& dataset, const LoaderOptions& options,
                            const SlotLayout& layout);

// What so many batches' bytes and variable-length values take if they are as large as the manifest
// says they are on average; 0 where it does not say.
std::uint64_t UsualVariableBytes(const DatasetState& dataset, const SlotLayout& layout,
                                 std::size_t slots);

}  // namespace sluice
