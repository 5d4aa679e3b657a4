// The size of the ring of batches (BatchRing). It stands this low because reading/ needs it, too:
// to know which blocks the batches in the ring may still read.
#pragma once

#include <cstddef>

#include <sluice/loader_options.h>

namespace sluice {

// The most slots in the ring: one the consumer holds, those decoded ahead, and those it may hold
// besides. `options` must be checked.
inline std::size_t SlotsOf(const LoaderOptions& options) noexcept {
  return 1 + *options.ring.prefetch + options.ring.hold;
}

// Batches decoded ahead in rings that a loader chooses: in a long one, and in the longest.
inline constexpr std::size_t kLongPrefetch = 8, kLongestPrefetch = 32;

}  // namespace sluice
