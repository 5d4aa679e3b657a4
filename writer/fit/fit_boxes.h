// Fits boxes to their stored images: turns, moves, scales and clips them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "writer/fit/placement.h"

namespace sluice {

struct FittedBoxes {
  std::vector<float> corners;      // left, top, right, bottom, in pixels of what is stored
  std::vector<std::size_t> taken;  // indices of the source's boxes that are left
};

// `corners`: in pixels of the placement's file, or with `relative` in fractions of its width and
// height. Boxes with no area left are dropped. If an image is padded, boxes are clipped to the
// image without its padding.
FittedBoxes FitBoxes(std::span<const double> corners, bool relative, const Placement& placement);

}  // namespace sluice
