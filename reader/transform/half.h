// Numbers of 16 bits, as batches of float16 (IEEE 754 binary16) and bfloat16 hold them.
#pragma once

#include <cstdint>

namespace sluice {

// The nearest one, halves to even.
std::uint16_t HalfOf(float value) noexcept;
// The number that the bits stand for.
float OfHalf(std::uint16_t half) noexcept;

// Likewise, of bfloat16.
std::uint16_t BFloatOf(float value) noexcept;
float OfBFloat(std::uint16_t bits) noexcept;

}  // namespace sluice
