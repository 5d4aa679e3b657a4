// LoaderOptions::storage = Locked: a dataset read once and locked in memory.
#pragma once

#include "reader/dataset/dataset_state.h"

namespace sluice {

// Maps every shard, reads it and keeps the kernel from taking its pages back, until the last handle
// to the dataset is gone. Throws Error(kLimit) where it does not fit into memory or into what this
// process may lock, before anything is read; Error(kIo) where a shard cannot be read. With
// `pass_over` such a shard is passed over: each of its samples will say so.
void LockInMemory(DatasetState& dataset, bool pass_over);

}  // namespace sluice
