// The rule by which the outputs along an axis weight its samples. C++17: nvcc compiles this.
#pragma once

#include <cstdint>

namespace sluice::kernels {

// The axis begins at `start` and its outputs' centres are at start + (i + 0.5) * scale. A sample
// whose centre lies d from an output's centre gets a share of (reach - d) * slope, clamped to
// [0, 1]; the shares are then scaled to add up to 65536, and rounded. All numbers are in samples
// and below 2^30.
struct WeightRule {
  double start = 0, scale = 1;
  double reach = 1, slope = 1;
  std::int32_t bound = 0, bound_end = 1;  // the samples that may be used
  std::int32_t first = 0, extent = 1;     // the samples that exist: [first, first + extent)
  std::uint32_t taps = 0;                 // samples for each output, at most `extent`
  std::uint32_t out = 0;
  bool mirrored = false;  // the last output first
};

// Centres are computed from the centre of the first of this many outputs, so that rounding is the
// same everywhere.
inline constexpr std::uint32_t kWeightGroup = 32;

// An output of more taps than this (in a reduction by more than 256) has weights so small that it
// shows in the result if a part of each product is cut off, or each weight is rounded by itself. So
// products are then summed whole, and what rounding cuts off a weight is added to the next one.
inline constexpr std::uint32_t kManyTaps = 512;

}  // namespace sluice::kernels
