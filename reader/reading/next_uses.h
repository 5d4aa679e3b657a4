// When an epoch needs each block, for a cache that gives up what is needed last.
#pragma once

#include <cstdint>
#include <vector>

#include <sluice/loader_options.h>

#include "reader/order/give_up.h"
#include "reader/order/shape.h"

namespace sluice {

// By block: the time at which that epoch opens it, over all ranks, in samples since epoch 0;
// UINT64_MAX if it does not, or if there is no telling: with ranks that deal whole shards, and with
// Shuffle::kRandom, which needs most blocks many times. Walks the whole order. `options` are
// checked ones.
std::vector<std::uint64_t> NextUses(const DatasetShape& shape, const LoaderOptions& options,
                                    std::uint64_t epoch, GiveUp give_up);

}  // namespace sluice
