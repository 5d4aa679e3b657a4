// What the device, the bus to it and the CPUs did in the epochs that were measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sluice/loader_stats.h>

#include "bench/machine/gpu_meter.h"

namespace sluice::bench {

struct DeviceUse {
  std::string device;         // "cuda:0"
  double seconds = 0;         // of the epochs together
  std::uint64_t samples = 0;  // that came to the device
  std::uint64_t images = 0;   // the same, times the views of each
  bool asked_to_decode = false;
  std::uint64_t decoded_images = 0;  // by the device; with those of batches ahead
  double decode_seconds = 0;         // on them, by the device's clock
  std::uint64_t uploaded_bytes = 0;
  double upload_seconds = 0;          // that the copies took, by the device's clock
  std::optional<double> bare_copies;  // bytes a second; see bench/upload/bare_copies.h
  double cpus_busy = 0;               // by this process, on average
  unsigned cpus = 0;                  // that it may use
  std::optional<GpuUse> gpu;          // what NVML tells
};

// A line for each: what it did, in words.
std::vector<std::pair<std::string, std::string>> LinesOf(const DeviceUse& use);
std::string TextOf(const DeviceUse& use);
nlohmann::ordered_json JsonOf(const DeviceUse& use);

// Which of them was the busiest, and the share of the time that it was.
std::pair<std::string, double> BusiestOf(const DeviceUse& use);

}  // namespace sluice::bench
