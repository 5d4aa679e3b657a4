// Boxes follow their images: turned, moved, scaled and cut off at the edges.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "writer/fit/placement.h"

namespace sluice {

struct FittedBoxes {
  std::vector<float> corners;      // left, top, right, bottom, in pixels of what is stored
  std::vector<std::size_t> taken;  // which of the source's boxes they are
};

// `corners`: in pixels of the placement's file, or with `relative` in fractions of its width and
// height. Boxes of which no area is left are dropped; where an image is padded, boxes end where it
// ends.
FittedBoxes FitBoxes(std::span<const double> corners, bool relative, const Placement& placement);

}  // namespace sluice
