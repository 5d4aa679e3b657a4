// Where a picture went: from the pixels of its file to those that are stored.
#pragma once

#include "writer/fit/geometry.h"
#include "writer/source/orientation.h"

namespace sluice {

struct Placement {
  std::uint32_t stored_width = 0;  // of the file, as its rows lie
  std::uint32_t stored_height = 0;
  Orientation orientation;
  FittedGeometry geometry;  // of the upright picture

  std::uint32_t upright_width() const noexcept {
    return orientation.transposed ? stored_height : stored_width;
  }
  std::uint32_t upright_height() const noexcept {
    return orientation.transposed ? stored_width : stored_height;
  }
  // The same for what belongs to the upright picture already.
  Placement Upright() const noexcept {
    return {upright_width(), upright_height(), Orientation{}, geometry};
  }
};

}  // namespace sluice
