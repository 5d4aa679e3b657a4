// The grey of a colour, the same for every reader and writer of pixels.
#pragma once

#include <cstdint>

namespace sluice {

// Luma of ITU-R BT.601 (0.299 R + 0.587 G + 0.114 B, as in JFIF) in 16-bit fixed point, rounded.
// The kernels compute the same: GreyValue() in kernels/pixel.inc.h, and fdct.inc.h.
constexpr std::uint8_t GreyOf(const std::uint8_t* rgb) noexcept {
  return static_cast<std::uint8_t>((19595U * rgb[0] + 38470U * rgb[1] + 7471U * rgb[2] + 32768U) >>
                                   16);
}

}  // namespace sluice
