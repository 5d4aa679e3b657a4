// How busy a GPU is and how much of its memory is in use, from NVIDIA's management library (NVML).
// The library comes with the driver and is loaded when a meter is made; where it is missing, there
// are no figures, and nothing else changes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "format/mutex.h"

namespace sluice::bench {

struct GpuUse {
  double busy = 0;                 // share of the time in which any kernel ran; of all processes
  std::uint64_t memory_bytes = 0;  // the most that was in use, by all processes
  std::uint64_t memory_total_bytes = 0;
};

class GpuMeter {
 public:
  // `bus_id`: the GPU's place on the bus, as DeviceDriver::BusId() says it; empty: no figures. A
  // thread asks the library ten times a second.
  explicit GpuMeter(const std::string& bus_id, const char* library = "libnvidia-ml.so.1");
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;
  ~GpuMeter();

  // Since construction or the last call. The library looks back by up to a second, so shorter times
  // are rough. Empty if it is missing, does not know this GPU, or does not tell.
  std::optional<GpuUse> Take();

 private:
  struct Nvml;
  void Sample() REQUIRES(mutex_);
  void Run();

  std::unique_ptr<Nvml> nvml_;  // null: no figures
  Mutex mutex_;
  Condition ends_;
  bool ending_ GUARDED_BY(mutex_) = false;
  GpuUse use_ GUARDED_BY(mutex_);  // busy: the sum of the samples
  std::uint64_t samples_ GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

// "busy 63% of the time by NVML, ...", or that nobody knows.
std::string GpuText(const std::optional<GpuUse>& gpu);

}  // namespace sluice::bench
