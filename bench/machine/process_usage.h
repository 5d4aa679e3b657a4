// The resources that this process has used so far, as the kernel counts them.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::bench {

// CPU time of all threads, user and system.
double CpuSeconds();
double CpuSecondsWithChildren();  // those that have ended and were waited for

// Of the calling thread alone.
double ThreadCpuSeconds();

// "1.21 of 16 busy (8%)": CPUs on average, and those that this process may use.
std::string CpusText(double busy, unsigned cpus);

struct MemoryUse {
  std::uint64_t peak_bytes = 0;  // the most that was resident at once, mapped file pages included
  std::uint64_t anonymous_bytes = 0;  // resident now, without pages of files
};
// From /proc/self/status. (getrusage's ru_maxrss is no use: it starts with the parent's value.)
MemoryUse CurrentMemory();

// Seconds since this process was started, to 10 ms: from the kernel's own record, so that loading
// the program's libraries counts.
double SecondsSinceStart();

}  // namespace sluice::bench
