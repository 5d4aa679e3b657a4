// The machine of a measurement, the load of other processes meanwhile, and the resources that this
// process and its descendants have used so far, as the kernel counts them.
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
  unsigned cpus = 0;  // that this process may use (affinity and control group)
  std::uint64_t memory_bytes = 0;
  std::string system;  // kernel's name, release and architecture
  std::string isa;     // instruction set of the chosen kernels: "avx2", "neon", "plain"
  std::string compiler;
};
Machine ThisMachine();

// The names of this machine's NVIDIA cards, from the driver's files in `folder`; empty without a
// driver.
std::vector<std::string> GpuNames(const std::filesystem::path& folder = "/proc/driver/nvidia/gpus");

// How many CPUs other processes have kept busy since construction, on average: from /proc/stat,
// minus the CPU time of this process and of its ended children. 0 until enough time has passed for
// a figure.
class LoadWatch {
 public:
  LoadWatch();
  double OtherCpus() const;

 private:
  // CPU seconds at construction: of all processes; of this one and its ended children.
  double busy_ = 0;
  double own_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

// The busy seconds of all CPUs together in a /proc/stat text, including steal (other guests of the
// same machine).
double BusySeconds(const std::string& proc_stat, double ticks_per_second);

// CPU time of all threads of this process, user and system.
double CpuSeconds();
double CpuSecondsWithChildren();  // including children that have ended and were waited for

// CPU time of the calling thread alone.
double ThreadCpuSeconds();

// "1.21 of 16 busy (8%)": CPUs busy on average, of those that this process may use.
std::string CpusText(double busy, unsigned cpus);

struct MemoryUse {
  std::uint64_t peak_bytes = 0;  // the largest resident size so far, mapped file pages included
  std::uint64_t anonymous_bytes = 0;  // resident now, without pages of files
};
// Reads /proc/self/status. (getrusage's ru_maxrss would start with the parent's value.)
MemoryUse CurrentMemory();

// Seconds since the kernel started this process, to 10 ms. Includes the time to load the program's
// libraries.
double SecondsSinceStart();

// The resources that a process and all its descendants have used so far.
struct TreeUse {
  double cpu_seconds = 0;  // user and system; descendants that ended and were waited for count
  std::uint64_t resident_bytes = 0;  // now; memory that several of them share counts once
};
// Reads /proc. With `memory` = false, leaves out resident_bytes, which costs the kernel the most
// time.
TreeUse UseOfTree(pid_t root, bool memory);

}  // namespace sluice::bench
