// Meters of the energy of processors and the load of GPUs, where the machine allows reading them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "format/mutex.h"

namespace sluice::bench {

// The energy in joules that the processor packages have used, from RAPL, if the kernel lets this
// process read it (mostly as root on a physical machine).
class EnergyMeter {
 public:
  explicit EnergyMeter(const std::filesystem::path& powercap = "/sys/class/powercap");

  // The energy of all packages since construction or the last call; empty if it cannot be read. A
  // counter wraps after some minutes at full power, so call this more often than that.
  std::optional<double> Joules();

 private:
  struct Package {
    std::filesystem::path counter;  // the counter's file; it counts microjoules
    std::uint64_t range = 0;        // the counter wraps at this value
    std::uint64_t last = 0;         // the counter at the last call
  };
  std::vector<Package> packages_;
};

// How busy a GPU is and how much of its memory is in use, from NVIDIA's management library (NVML).
// The library comes with the driver and is loaded when a meter is made. Without it only these
// figures are missing.
struct GpuUse {
  double busy = 0;                 // share of the time in which any process ran a kernel
  std::uint64_t memory_bytes = 0;  // peak use by all processes
  std::uint64_t memory_total_bytes = 0;
};

class GpuMeter {
 public:
  // Starts a thread that asks the library ten times a second. `bus_id` is the GPU's place on the
  // bus, as DeviceDriver::BusId() gives it; if it is empty, Take() returns nothing.
  explicit GpuMeter(const std::string& bus_id, const char* library = "libnvidia-ml.so.1");
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;
  ~GpuMeter();

  // The use since construction or the last call. The library averages over up to a second, so
  // shorter times are rough. Empty if the library is missing, does not know this GPU, or gives no
  // figures.
  std::optional<GpuUse> Take();

 private:
  struct Nvml;
  void Sample() REQUIRES(mutex_);
  void Run();

  std::unique_ptr<Nvml> nvml_;  // null: no figures
  Mutex mutex_;
  Condition ends_;
  bool ending_ GUARDED_BY(mutex_) = false;
  GpuUse use_ GUARDED_BY(mutex_);                 // busy: the sum of the samples
  std::uint64_t samples_ GUARDED_BY(mutex_) = 0;  // their number
  std::thread thread_;
};

// "busy 63% of the time by NVML, ...", or that it is unknown.
std::string GpuText(const std::optional<GpuUse>& gpu);

}  // namespace sluice::bench
