// The numbers by which forward transforms divide.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "format/pixels/kernels/kernels.h"

namespace sluice::baseline {

// A step q, of 255 at most, lies in [2^b, 2^(b + 1)). The reciprocal is 2^(15 + b) / q, rounded up
// by less than one, so that x * reciprocal / 2^(18 + b), which the two multiplications give for x
// below 2^14, is never a whole number more than x / 8q.
inline kernels::ForwardSteps MakeForwardSteps(const std::int16_t* quant) noexcept {
  kernels::ForwardSteps steps;
  for (std::size_t i = 0; i < std::size(steps.half); ++i) {
    const auto step = static_cast<std::uint32_t>(quant[i]);
    const auto log2 = static_cast<std::uint32_t>(std::bit_width(step)) - 1;
    steps.half[i] = static_cast<std::uint16_t>(step * 4);
    steps.reciprocal[i] = static_cast<std::uint16_t>(((1U << (15 + log2)) + step - 1) / step);
    steps.scale[i] = static_cast<std::uint16_t>(1U << (14 - log2));
  }
  return steps;
}

}  // namespace sluice::baseline
