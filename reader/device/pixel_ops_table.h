// The new value that kStretch and kEqualize give to each value of a channel. Any thread can compute
// one by itself, with the arithmetic of the host's own steps. C++17: nvcc compiles this
// (pixel_ops.h).
#pragma once

#include "reader/device/pixel_ops_point.h"

namespace sluice {

// `counts`: the number of the channel's pixels with each of the 256 values.

SLUICE_ON_DEVICE inline std::uint8_t StretchedBy(const std::uint32_t* counts, std::uint32_t value) {
  int low = 0, high = 255;
  while (low < 255 && counts[low] == 0)
    ++low;
  while (high > 0 && counts[high] == 0)
    --high;
  if (high <= low) return static_cast<std::uint8_t>(value);
  return on_device::StretchedValue(static_cast<int>(value), low,
                                   on_device::StretchScale(low, high));
}

SLUICE_ON_DEVICE inline std::uint8_t EqualizedBy(const std::uint32_t* counts, std::uint64_t pixels,
                                                 std::uint32_t value) {
  std::uint32_t greatest = 255;
  while (greatest > 0 && counts[greatest] == 0)
    --greatest;
  const std::uint64_t step = on_device::EqualStep(pixels, counts[greatest]);
  if (step == 0) return static_cast<std::uint8_t>(value);
  std::uint64_t below = 0;
  for (std::uint32_t v = 0; v < value; ++v)
    below += counts[v];
  return on_device::EqualValue(below, step);
}

SLUICE_ON_DEVICE inline std::uint8_t ValueBy(PixelOpKind kind, const std::uint32_t* counts,
                                             std::uint64_t pixels, std::uint32_t value) {
  return kind == PixelOpKind::kStretch ? StretchedBy(counts, value)
                                       : EqualizedBy(counts, pixels, value);
}

}  // namespace sluice
