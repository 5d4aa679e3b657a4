// RGB to grey.
#pragma once

#include <cstdint>

namespace sluice {

// Luma of ITU-R BT.601 (0.299 R + 0.587 G + 0.114 B, as in JFIF) in 16-bit fixed point, rounded.
constexpr std::uint8_t GreyOf(const std::uint8_t* rgb) noexcept {
  return static_cast<std::uint8_t>((19595U * rgb[0] + 38470U * rgb[1] + 7471U * rgb[2] + 32768U) >>
                                   16);
}

}  // namespace sluice
