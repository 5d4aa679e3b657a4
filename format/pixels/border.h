// What a target shows where the picture ends.
#pragma once

#include "format/pixels/decode.h"

namespace sluice {

// The target's line that the region's row `row` comes to lie in, before rows become columns.
inline std::uint32_t LineOf(const Region& region, std::uint32_t row) noexcept {
  return region.flip_y ? region.y.target - 1 - (region.y.at + row) : region.y.at + row;
}

// Fills the border of a target that is not transposed yet and whose border is zero: by reflecting
// what the region shows (again and again where the border is wider than that), or with its colour,
// which is for 8-bit values. A region that shows nothing reflects nothing.
void FillBorder(const Region& region, const PixelTarget& target, std::size_t value_bytes) noexcept;

}  // namespace sluice
