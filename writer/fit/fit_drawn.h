// Boxes, key points and masks follow their pictures: they are turned, moved, scaled and clipped to
// what is stored.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "writer/fit/geometry.h"
#include "writer/source/images/png.h"

namespace sluice {

struct FittedBoxes {
  std::vector<float> corners;      // left, top, right, bottom, in pixels of what is stored
  std::vector<std::size_t> taken;  // indices of the source's boxes that are left
};

// `corners`: in pixels of the placement's file, or with `relative` in fractions of its width and
// height. Boxes with no area left are dropped. If an image is padded, boxes are clipped to the
// image without its padding.
FittedBoxes FitBoxes(std::span<const double> corners, bool relative, const Placement& placement);

// `points`: x, y, visibility each, changed in place. With `relative`, x and y are fractions of the
// placement's width and height. A point outside what is stored gets visibility 0; one that has it
// already, and so no place, keeps its numbers.
void FitPoints(std::span<float> points, bool relative, const Placement& placement);

// `mask` has the size of the placement's file. Values in the padding of the image are 0.
MaskPicture FitMask(MaskPicture mask, const Placement& placement);

}  // namespace sluice
