// The resources that a process and all its descendants have used so far.
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace sluice::bench {

struct TreeUse {
  double cpu_seconds = 0;  // user and system; descendants that ended and were waited for count
  std::uint64_t resident_bytes = 0;  // now; memory that several of them share counts once
};
// From /proc. `memory` = false leaves out resident_bytes, which takes the kernel longest.
TreeUse UseOfTree(pid_t root, bool memory);

}  // namespace sluice::bench
