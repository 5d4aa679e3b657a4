// Running a loop's body on several threads.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace sluice {

// Calls body(worker, index) once for each index below `count`, in no particular order, on up to
// `threads` threads. `worker` is below `threads`; calls with the same worker never overlap. If the
// system cannot start that many threads, fewer are used. Returns when all calls have returned.
// After a stop request or an exception no further index is begun; the first exception is rethrown.
void ParallelFor(unsigned threads, std::size_t count, const std::stop_token& stop,
                 const std::function<void(unsigned worker, std::size_t index)>& body);

}  // namespace sluice
