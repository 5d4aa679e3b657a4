// LoaderOptions::storage = Locked: a dataset read once and locked in memory.
#pragma once

#include "reader/dataset/dataset_state.h"

namespace sluice {

// Maps and reads every shard, and locks its pages in memory until the last handle to the dataset is
// gone. Throws Error(kLimit), before it reads anything, if the dataset does not fit into memory or
// into what this process may lock; Error(kIo) if a shard cannot be read. With `pass_over`, passes
// over such a shard: each of its samples will fail later.
void LockInMemory(DatasetState& dataset, bool pass_over);

}  // namespace sluice
