// Numbers of 16 bits, as batches of float16 (IEEE 754 binary16) and bfloat16 hold them.
//
// Without branches: loops over them become vectors.
#pragma once

#include <bit>
#include <cstdint>

namespace sluice {

// By masks: of a choice the compiler might make a branch.
inline std::uint32_t Either(bool first, std::uint32_t a, std::uint32_t b) noexcept {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(first);
  return (a & mask) | (b & ~mask);
}

// The nearest one, halves to even.
inline std::uint16_t HalfOf(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  // From 2^-14 on, the exponent is 112 less, and 13 bits go; what is rounded up may carry into it.
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xFFFU + (magnitude >> 13 & 1U)) >> 13;
  // Below it counts 2^-24, which the last bit of numbers from 1/2 to 1 is worth: adding that
  // rounds.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
  const std::uint32_t finite = Either(magnitude < 0x38800000U, small, normal);
  const std::uint32_t other =
      Either(magnitude > 0x7F800000U, 0x7E00U, 0x7C00U);  // no number, infinity
  return static_cast<std::uint16_t>(sign |
                                    (Either(magnitude < 0x477FF000U, finite, other)));  // 65520
}

// The number that the bits stand for.
inline float OfHalf(std::uint16_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7FFFU;
  const std::uint32_t normal = (magnitude << 13) + (112U << 23);
  // Below 2^-14: so many times 2^-24.
  const auto small =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(magnitude)) * 0x1p-24F);
  const std::uint32_t finite = Either(magnitude < 0x400U, small, normal);
  const std::uint32_t other = magnitude << 13 | 0x7F800000U;  // infinity, no number
  return std::bit_cast<float>(sign | (Either(magnitude < 0x7C00U, finite, other)));
}

// Likewise, of bfloat16.
inline std::uint16_t BFloatOf(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t number = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  const bool is_none = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return static_cast<std::uint16_t>(Either(is_none, bits >> 16 | 0x40U, number));
}
inline float OfBFloat(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace sluice
