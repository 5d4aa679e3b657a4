#include "writer/fit/fit_boxes.h"

#include <algorithm>
#include <utility>

namespace sluice {

namespace {

struct Box {
  double left, top, right, bottom;
};

// From the file's pixels to those of the upright picture (see Orientation: first a stored axis is
// mirrored, then the axes are exchanged).
Box Turned(Box box, const Placement& placement) {
  const Orientation& orientation = placement.orientation;
  if (orientation.mirror_x) {
    box = {placement.stored_width - box.right, box.top, placement.stored_width - box.left,
           box.bottom};
  }
  if (orientation.mirror_y) {
    box = {box.left, placement.stored_height - box.bottom, box.right,
           placement.stored_height - box.top};
  }
  if (orientation.transposed) box = {box.top, box.left, box.bottom, box.right};
  return box;
}

double Scaled(double at, double start, double length, std::uint32_t out, std::uint32_t offset) {
  return std::clamp((at - start) * out / length, 0.0, static_cast<double>(out)) + offset;
}

}  // namespace

FittedBoxes FitBoxes(std::span<const double> corners, bool relative, const Placement& placement) {
  const FittedGeometry& geometry = placement.geometry;
  FittedBoxes fitted;
  for (std::size_t i = 0; i + 4 <= corners.size(); i += 4) {
    Box box{corners[i], corners[i + 1], corners[i + 2], corners[i + 3]};
    if (relative) {
      box = {box.left * placement.stored_width, box.top * placement.stored_height,
             box.right * placement.stored_width, box.bottom * placement.stored_height};
    }
    box = Turned(box, placement);
    const float out[4] = {static_cast<float>(Scaled(box.left, geometry.left, geometry.width,
                                                    geometry.out_width, geometry.x)),
                          static_cast<float>(Scaled(box.top, geometry.top, geometry.height,
                                                    geometry.out_height, geometry.y)),
                          static_cast<float>(Scaled(box.right, geometry.left, geometry.width,
                                                    geometry.out_width, geometry.x)),
                          static_cast<float>(Scaled(box.bottom, geometry.top, geometry.height,
                                                    geometry.out_height, geometry.y))};
    if (out[0] >= out[2] || out[1] >= out[3]) continue;
    fitted.corners.insert(fitted.corners.end(), out, out + 4);
    fitted.taken.push_back(i / 4);
  }
  return fitted;
}

}  // namespace sluice
