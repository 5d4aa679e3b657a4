// The bound that Loader::Memory() states.
#pragma once

#include <sluice/loader.h>

#include "reader/dataset_state.h"
#include "reader/pipeline/slot_layout.h"

namespace sluice {

// `options` are checked ones.
LoaderMemory MemoryBound(const DatasetState& dataset, const LoaderOptions& options,
                         const SlotLayout& layout);

}  // namespace sluice
