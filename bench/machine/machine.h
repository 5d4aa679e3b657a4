// The machine that a measurement was taken on, its other load meanwhile, and what this process and
// its descendants have used so far, all as the kernel counts it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace sluice::bench {

struct Machine {
  std::string cpu;    // as /proc/cpuinfo names it
  unsigned cpus = 0;  // this process may use (affinity and control group)
  std::uint64_t memory_bytes = 0;
  std::string system;  // kernel's name, release and architecture
  std::string isa;     // of the chosen kernels: "avx2", "neon", "plain"
  std::string compiler;
};
Machine ThisMachine();

// The names of this machine's NVIDIA cards, from the driver's files in `folder`; empty without a
// driver.
std::vector<std::string> GpuNames(const std::filesystem::path& folder = "/proc/driver/nvidia/gpus");

// How many CPUs other processes have kept busy, on average, since construction: from /proc/stat,
// minus the use by this process and its children that have ended. 0 until enough time has passed to
// tell.
class LoadWatch {
 public:
  LoadWatch();
  double OtherCpus() const;

 private:
  double busy_ = 0;
  double own_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

// The busy seconds of all CPUs together in a /proc/stat text, including steal (other guests of the
// same machine).
double BusySeconds(const std::string& proc_stat, double ticks_per_second);

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
// From /proc/self/status. (getrusage's ru_maxrss does not serve: it starts with the parent's
// value.)
MemoryUse CurrentMemory();

// Seconds since this process was started, to 10 ms: from the kernel's own record, so that loading
// the program's libraries counts.
double SecondsSinceStart();

// The resources that a process and all its descendants have used so far.
struct TreeUse {
  double cpu_seconds = 0;  // user and system; descendants that ended and were waited for count
  std::uint64_t resident_bytes = 0;  // now; memory that several of them share counts once
};
// From /proc. `memory` = false leaves out resident_bytes, which takes the kernel longest.
TreeUse UseOfTree(pid_t root, bool memory);

}  // namespace sluice::bench
