// The machine that a measurement was taken on, and its other load during the measurement.
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

}  // namespace sluice::bench
