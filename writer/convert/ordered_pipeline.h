// Does work on many threads and takes the results in order on one.
#pragma once

#include <functional>
#include <stop_token>

#include "writer/convert/sample_encoder.h"

namespace sluice {

// Calls produce(worker, index) for each index below `count` on `threads` threads of its own, and
// consume(index, outcome) on the calling thread, index by index. At most 8 x threads results are
// begun and not yet consumed. Finished results that wait hold at most 64 MiB: beyond that, only the
// next result in order is accepted, and each thread may hold one more while it waits. A result may
// wait up to 5 ms before it is consumed, even if the consumer is idle.
//
// An exception from either function ends everything and is rethrown here; a stop request ends it
// with ThrowStopped(). When this returns, no thread is left.
void RunInOrder(unsigned threads, std::uint64_t count, const std::stop_token& stop,
                const std::function<Outcome(unsigned worker, std::uint64_t index)>& produce,
                const std::function<void(std::uint64_t index, Outcome&& outcome)>& consume);

}  // namespace sluice
