// How many threads are worth starting: the default of the loader and of `sluice convert`.
#pragma once

namespace sluice {

// Returns the number of CPUs that this process may use, at least 1: the number in its affinity
// mask, or the CPU quota of its control group (version 1 or 2, rounded up to whole CPUs) if that is
// smaller. The machine's own number of CPUs would be too large in containers and under job
// schedulers.
unsigned AvailableCpus() noexcept;

}  // namespace sluice
