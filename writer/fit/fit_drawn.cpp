#include "writer/fit/fit_drawn.h"

#include <algorithm>
#include <cstring>
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

namespace {

// For each of `out` pixels, the source pixel that holds its centre.
std::vector<std::uint32_t> Nearest(double start, double length, std::uint32_t out, bool mirrored,
                                   std::uint32_t size) {
  std::vector<std::uint32_t> nearest(out);
  for (std::uint32_t i = 0; i < out; ++i) {
    const double at = start + (i + 0.5) * length / out;
    const auto pixel = static_cast<std::uint32_t>(
        std::clamp(at, 0.0, static_cast<double>(size) - 1));  // rounds down
    nearest[i] = mirrored ? size - 1 - pixel : pixel;
  }
  return nearest;
}

}  // namespace

MaskPicture FitMask(MaskPicture mask, const Placement& placement) {
  const FittedGeometry& geometry = placement.geometry;
  const Orientation& orientation = placement.orientation;
  if (geometry.unchanged && orientation.identity()) return mask;
  const bool turned = orientation.transposed;
  // Named after the upright picture's axes. The mirror flags are those of the stored axes that run
  // along them.
  const std::vector<std::uint32_t> columns =
      Nearest(geometry.left, geometry.width, geometry.out_width,
              turned ? orientation.mirror_y : orientation.mirror_x, placement.upright_width());
  const std::vector<std::uint32_t> rows =
      Nearest(geometry.top, geometry.height, geometry.out_height,
              turned ? orientation.mirror_x : orientation.mirror_y, placement.upright_height());
  MaskPicture out;
  out.width = geometry.target_width;
  out.height = geometry.target_height;
  out.channels = mask.channels;
  out.value_bytes = mask.value_bytes;
  const std::size_t pixel = std::size_t{mask.channels} * mask.value_bytes;
  out.pixels.resize(std::size_t{out.width} * out.height * pixel);
  for (std::uint32_t y = 0; y < geometry.out_height; ++y) {
    std::uint8_t* to =
        out.pixels.data() + ((std::size_t{y} + geometry.y) * out.width + geometry.x) * pixel;
    for (std::uint32_t x = 0; x < geometry.out_width; ++x, to += pixel) {
      const std::size_t from = turned ? std::size_t{columns[x]} * mask.width + rows[y]
                                      : std::size_t{rows[y]} * mask.width + columns[x];
      std::memcpy(to, mask.pixels.data() + from * pixel, pixel);
    }
  }
  return out;
}

}  // namespace sluice
