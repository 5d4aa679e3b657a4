// Copies out of page-locked memory to a device, and nothing else: what the bus between them gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reader/device/device_driver.h"

namespace sluice::bench {

class BareCopies {
 public:
  // Of `bytes` each, from these places in turn, all in page-locked memory that outlives this.
  BareCopies(DeviceDriver& driver, std::vector<const std::byte*> places, std::size_t bytes);

  // Does so many copies and waits for them. Bytes a second.
  double BytesPerSecond(std::uint64_t copies);

 private:
  DeviceDriver& driver_;
  const std::vector<const std::byte*> places_;
  const std::size_t bytes_;
  DeviceBuffer target_;
  OwnStream stream_;
  OwnEvent done_;
};

// The rate of copies of `bytes` each, median of some rounds; allocates memory of its own.
double BareCopyRate(const std::shared_ptr<DeviceDriver>& driver, std::size_t bytes);

}  // namespace sluice::bench
