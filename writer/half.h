// Numbers of 16 bits, in TIFF and Parquet.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace sluice {

// IEEE 754's binary16.
inline double HalfOf(std::uint16_t bits) noexcept {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double value = exponent == 0    ? std::ldexp(fraction, -24)
                       : exponent == 31 ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                         : std::numeric_limits<double>::quiet_NaN())
                                        : std::ldexp(1024 + fraction, exponent - 25);
  return (bits >> 15) != 0 ? -value : value;
}

}  // namespace sluice
