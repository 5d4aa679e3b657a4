#include "reader/transform/half.h"

#include <bit>

namespace sluice {

std::uint16_t HalfOf(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude >= 0x7F800000U) {  // infinity, or no number
    return static_cast<std::uint16_t>(sign | (magnitude > 0x7F800000U ? 0x7E00U : 0x7C00U));
  }
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // >= 65520
  std::uint32_t mantissa = magnitude & 0x7FFFFFU;
  const auto exponent = static_cast<int>(magnitude >> 23) - 127 + 15;
  int drop = 13;  // bits of the mantissa that go
  if (exponent <= 0) {
    if (exponent < -10) return sign;
    mantissa |= 0x800000U;
    drop += 1 - exponent;
  } else {
    mantissa |= static_cast<std::uint32_t>(exponent) << 23;
  }
  const std::uint32_t half = 1U << (drop - 1);
  const std::uint32_t rest = mantissa & ((1U << drop) - 1);
  std::uint32_t kept = mantissa >> drop;
  if (rest > half || (rest == half && (kept & 1U) != 0)) ++kept;  // may carry into the exponent
  return static_cast<std::uint16_t>(sign | kept);
}

float OfHalf(std::uint16_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1FU;
  const std::uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0) {  // mantissa x 2^-24
    const float value = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t bits = exponent == 31 ? 0x7F800000U : (exponent + 112) << 23;
  return std::bit_cast<float>(sign | bits | mantissa << 13);
}

std::uint16_t BFloatOf(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

float OfBFloat(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace sluice
