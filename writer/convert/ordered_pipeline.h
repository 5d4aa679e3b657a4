// Work done on many threads, its results taken in order on one.
#pragma once

#include <functional>
#include <stop_token>

#include "writer/convert/sample_encoder.h"

namespace sluice {

// Calls produce(worker, index) for each index below `count` on `threads` threads of its own, and
// consume(index, outcome) on the calling thread, index by index. At most 8 x threads results are
// begun and not yet consumed, and those that are finished hold at most 64 MiB (beyond which only
// the next one in order is let in, and one for each thread waits).
//
// An exception of either function ends everything and is thrown again here; a stop request ends it
// with ThrowStopped(). No thread is left when this returns.
void RunInOrder(unsigned threads, std::uint64_t count, const std::stop_token& stop,
                const std::function<Outcome(unsigned worker, std::uint64_t index)>& produce,
                const std::function<void(std::uint64_t index, Outcome&& outcome)>& consume);

}  // namespace sluice
