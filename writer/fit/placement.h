// Where a picture's pixels went: from those of its file to those that are stored.
#pragma once

#include "writer/fit/geometry.h"
#include "writer/source/images/orientation.h"

namespace sluice {

struct Placement {
  std::uint32_t stored_width = 0;  // size of the file's picture, as its rows are stored
  std::uint32_t stored_height = 0;
  Orientation orientation;
  FittedGeometry geometry;  // of the upright picture

  std::uint32_t upright_width() const noexcept {
    return orientation.transposed ? stored_height : stored_width;
  }
  std::uint32_t upright_height() const noexcept {
    return orientation.transposed ? stored_width : stored_height;
  }
  // As above, for annotations of the picture that is already upright.
  Placement Upright() const noexcept {
    return {upright_width(), upright_height(), Orientation{}, geometry};
  }
};

}  // namespace sluice
