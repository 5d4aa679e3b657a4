#include "writer/fit/fit_mask.h"

#include <algorithm>
#include <cstring>

namespace sluice {

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
