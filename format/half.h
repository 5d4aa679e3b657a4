// Conversion to and from 16-bit floats: float16 (IEEE 754 binary16) and bfloat16.
//
// These functions have no branches, so that compilers vectorize loops over them.
#pragma once

#include <bit>
#include <cstdint>

namespace sluice {

// Selects by masks, because the compiler might turn ?: into a branch.
inline std::uint32_t Either(bool first, std::uint32_t a, std::uint32_t b) noexcept {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(first);
  return (a & mask) | (b & ~mask);
}

// The nearest float16, ties to even.
inline std::uint16_t HalfOf(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  // For magnitudes from 2^-14 on: the exponent is 112 less, and 13 bits are dropped; rounding up
  // may carry into the exponent.
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xFFFU + (magnitude >> 13 & 1U)) >> 13;
  // For smaller magnitudes: float16 counts in units of 2^-24, which is the last bit of a float from
  // 1/2 to 1. So adding 1/2 rounds to such units.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
  const std::uint32_t finite = Either(magnitude < 0x38800000U, small, normal);
  const std::uint32_t other = Either(magnitude > 0x7F800000U, 0x7E00U, 0x7C00U);  // NaN, infinity
  return static_cast<std::uint16_t>(
      sign | (Either(magnitude < 0x477FF000U, finite, other)));  // from 65520 on: infinity
}

// The value of a float16's bits.
inline float OfHalf(std::uint16_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7FFFU;
  const std::uint32_t normal = (magnitude << 13) + (112U << 23);
  // Below 2^-14: the bits times 2^-24.
  const auto small =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(magnitude)) * 0x1p-24F);
  const std::uint32_t finite = Either(magnitude < 0x400U, small, normal);
  const std::uint32_t other = magnitude << 13 | 0x7F800000U;  // infinity, NaN
  return std::bit_cast<float>(sign | (Either(magnitude < 0x7C00U, finite, other)));
}

// The nearest bfloat16, ties to even.
inline std::uint16_t BFloatOf(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t number = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return static_cast<std::uint16_t>(Either(is_nan, bits >> 16 | 0x40U, number));
}
inline float OfBFloat(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace sluice
