// Warps a picture by an affine map: rotation, scale, shear and shift.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "format/pixels/steps/colour.h"

namespace sluice {

// (x, y) goes to (xx * x + xy * y + x0, yx * x + yy * y + y0), in pixels; a pixel's centre lies
// half a pixel from its corner.
struct AffineMap {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;

  double X(double x, double y) const noexcept { return xx * x + xy * y + x0; }
  double Y(double x, double y) const noexcept { return yx * x + yy * y + y0; }
  double Determinant() const noexcept { return xx * yy - xy * yx; }
  AffineMap Inverse() const noexcept;  // if the determinant is not 0
  friend bool operator==(const AffineMap&, const AffineMap&) = default;
};
// First `b`, then `a`.
AffineMap operator*(const AffineMap& a, const AffineMap& b) noexcept;

// Fills `out`, a different picture of any size with the same channels. Each pixel shows the place
// in `in` that `to_source` maps it to; outside `in`, it is `fill` (by channel). No place may lie
// farther away than 2^30 pixels.

// The bilinear mean of the four pixels around the place; in the half pixel at the edge, the edge
// pixel itself. As Pillow's Image.transform(AFFINE, BILINEAR), which truncates fractions while this
// rounds.
void WarpBilinear(const Pixels& in, const AffineMap& to_source,
                  const std::array<std::uint8_t, 3>& fill, const Pixels& out) noexcept;
// The pixel that the place lies in: Pillow's NEAREST, which counts places in 2^-16 of a pixel.
void WarpNearest(const Pixels& in, const AffineMap& to_source,
                 const std::array<std::uint8_t, 3>& fill, const Pixels& out) noexcept;
// As above for pixels of any number of bytes; `fill` is one pixel.
void WarpRuns(const std::uint8_t* in, std::uint32_t width, std::uint32_t height,
              std::size_t pixel_bytes, const AffineMap& to_source, const std::uint8_t* fill,
              std::uint8_t* out) noexcept;

}  // namespace sluice
