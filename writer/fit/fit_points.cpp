#include "writer/fit/fit_points.h"

#include <utility>

namespace sluice {

void FitPoints(std::span<float> points, bool relative, const Placement& placement) {
  const FittedGeometry& geometry = placement.geometry;
  const Orientation& orientation = placement.orientation;
  for (std::size_t i = 0; i + 3 <= points.size(); i += 3) {
    if (points[i + 2] == 0) continue;
    double x = points[i];
    double y = points[i + 1];
    if (relative) {
      x *= placement.stored_width;
      y *= placement.stored_height;
    }
    if (orientation.mirror_x) x = placement.stored_width - x;
    if (orientation.mirror_y) y = placement.stored_height - y;
    if (orientation.transposed) std::swap(x, y);
    x = (x - geometry.left) * geometry.out_width / geometry.width;
    y = (y - geometry.top) * geometry.out_height / geometry.height;
    if (!(x >= 0 && x <= geometry.out_width && y >= 0 && y <= geometry.out_height)) {
      points[i + 2] = 0;
    }
    points[i] = static_cast<float>(x + geometry.x);
    points[i + 1] = static_cast<float>(y + geometry.y);
  }
}

}  // namespace sluice
