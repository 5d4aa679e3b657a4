// Weighted sums of samples, as resampling makes them on a device. The arithmetic is the host's
// (format/pixels/kernels/lines_plain.h). C++17: nvcc compiles this.
#pragma once

#include <cstdint>

#include "reader/transform/on_device.h"

namespace sluice::on_device {

// What a sum begins with: half of what is cut off in the end, and of what each product loses.
SLUICE_ON_DEVICE inline std::uint32_t FirstOfSum(std::uint32_t taps) {
  return taps / 2 + 128;
}
SLUICE_ON_DEVICE inline std::uint32_t Weighted(std::uint32_t sample, std::uint32_t weight) {
  return sample * weight >> 8;
}
SLUICE_ON_DEVICE inline std::uint32_t EndOfSum(std::uint32_t sum) {
  return (sum > 65535 ? 65535 : sum) >> 8;
}

}  // namespace sluice::on_device
