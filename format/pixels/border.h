// Fills the part of a target that the picture does not cover.
#pragma once

#include "format/pixels/decode.h"

namespace sluice {

// The target's line that shows the region's row `row`, before rows become columns.
inline std::uint32_t LineOf(const Region& region, std::uint32_t row) noexcept {
  return region.flip_y ? region.y.target - 1 - (region.y.at + row) : region.y.at + row;
}

// Fills the border of a target that is not transposed yet and whose border is zero. The border
// reflects what the region shows (again and again if it is wider than that) or gets the region's
// colour, which is for 8-bit values. A region that shows nothing reflects nothing.
void FillBorder(const Region& region, const PixelTarget& target, std::size_t value_bytes) noexcept;

}  // namespace sluice
