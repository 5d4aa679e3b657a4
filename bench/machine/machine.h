// The machine a measurement was taken on, and what else it was doing meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::bench {

struct Machine {
  std::string cpu;    // as /proc/cpuinfo names it
  unsigned cpus = 0;  // this process may use (affinity and control group)
  std::uint64_t memory_bytes = 0;
  std::string system;  // kernel's name, release and architecture
  std::string isa;     // of the kernels chosen: "avx2", "neon", "plain"
  std::string compiler;
};
Machine ThisMachine();

// The names of this machine's NVIDIA cards, as the driver's files in `folder` say; none without a
// driver.
std::vector<std::string> GpuNames(const std::filesystem::path& folder = "/proc/driver/nvidia/gpus");

// How many CPUs other processes have kept busy, on average, since it was made: from /proc/stat,
// less what this process and its children that have ended used themselves. 0 as long as that is too
// short ago to tell.
class LoadWatch {
 public:
  LoadWatch();
  double OtherCpus() const;

 private:
  double busy_ = 0;
  double own_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

// CPU seconds in all, of all CPUs, that a /proc/stat text has as busy (steal, of other guests of
// the same machine, included).
double BusySeconds(const std::string& proc_stat, double ticks_per_second);

}  // namespace sluice::bench
