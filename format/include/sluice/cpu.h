// How many threads are worth starting: the default of the loader and of `sluice convert`.
#pragma once

namespace sluice {

// How many CPUs this process may use, at least 1: those of its affinity mask, or fewer if the CPU
// quota of its control group (version 1 or 2) allows fewer. Not the machine's count, which is wrong
// in containers and under job schedulers.
unsigned AvailableCpus() noexcept;

}  // namespace sluice
