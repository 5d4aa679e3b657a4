// How many threads are worth starting: the default of the loader and of `sluice convert`.
#pragma once

namespace sluice {

// CPUs this process may use: its affinity mask, cut by the CPU quota of its control group (version
// 1 or 2), at least 1. Not the machine's count, which is wrong in containers and under job
// schedulers.
unsigned AvailableCpus() noexcept;

}  // namespace sluice
