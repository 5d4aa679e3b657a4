// What a process and all its descendants have used so far.
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace sluice::bench {

struct TreeUse {
  double cpu_seconds = 0;  // user and system, of ended descendants that were waited for, too
  std::uint64_t resident_bytes = 0;  // now; memory that several of them share counts once
};
// From /proc. `memory` false leaves resident_bytes out, which takes the kernel longest.
TreeUse UseOfTree(pid_t root, bool memory);

}  // namespace sluice::bench
