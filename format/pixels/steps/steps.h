// The arithmetic of transforms' steps on decoded pixels: colour, affine maps, blur. Every machine
// gives the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "format/pixels/kernels/kernels.h"

namespace sluice {

// 8-bit pixels, interleaved, rows without padding; 1 (grey) or 3 (RGB) channels. For WarpNearest(),
// which moves pixels of any kind, `channels` is the number of bytes of a pixel.
struct Pixels {
  std::uint8_t* data = nullptr;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 0;
  std::size_t bytes() const noexcept { return std::size_t{width} * height * channels; }
};

// A step that changes each pixel by itself, or by itself and a finding about the whole picture.
struct ColourStep {
  enum class Kind : std::uint8_t {
    kBrightness,  // blends a black picture (factor 0) with the picture (factor 1), or goes beyond
    kContrast,    // ... one grey of the picture's mean lightness
    kSaturation,  // ... the picture in greys
    kHue,         // turns the hue by `factor` of the colour circle, -0.5 to 0.5
    kHsv,         // ... and multiplies HSV's saturation and value, each cut off at its greatest
    kExchange,    // channel c becomes the old channel (number >> 2 * c) & 3
    kGrey,        // sets all channels to the lightness
    kSolarize,    // inverts values from `number` on
    kPosterize,   // keeps the upper `number` bits of each value
    kStretch,     // stretches each channel's values to 0 .. 255
    kEqualize,    // spreads each channel's values so that all are about equally frequent
  };
  Kind kind = Kind::kBrightness;
  float factor = 1;
  std::uint32_t number = 0;
  float saturation = 1, value = 1;  // kHsv
};

// Runs such steps one after another, in as few passes over the picture as possible. Keeps its
// memory from picture to picture; one thread at a time.
class ColourSteps {
 public:
  void Run(const Pixels& pixels, std::span<const ColourStep> steps);

 private:
  std::vector<std::uint8_t> planes_;
  std::vector<kernels::BlendFactor> factors_;
};

// An affine map, by which a picture is warped: rotation, scale, shear and shift.
//
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

// A projective map (perspective): an affine map of which both results are divided by
// W(x, y) = wx * x + wy * y + w0. A point with W <= 0 lies behind the viewer, and is not shown.
struct Projection : AffineMap {
  double wx = 0, wy = 0, w0 = 1;

  Projection() = default;
  Projection(const AffineMap& map) : AffineMap(map) {}  // NOLINT(google-explicit-constructor)
  bool affine() const noexcept { return wx == 0 && wy == 0 && w0 == 1; }
  double W(double x, double y) const noexcept { return wx * x + wy * y + w0; }
  double X(double x, double y) const noexcept {
    return affine() ? AffineMap::X(x, y) : AffineMap::X(x, y) / W(x, y);
  }
  double Y(double x, double y) const noexcept {
    return affine() ? AffineMap::Y(x, y) : AffineMap::Y(x, y) / W(x, y);
  }
  // Of the 3x3 matrix. Negative if the map mirrors.
  double Determinant() const noexcept;
  Projection Inverse() const noexcept;  // if the determinant is not 0
  friend bool operator==(const Projection&, const Projection&) = default;
};
// First `b`, then `a`.
Projection operator*(const Projection& a, const Projection& b) noexcept;

// WarpBilinear() and WarpNearest() fill `out`, a different picture of any size with the same
// channels. Each pixel of `out` shows the place in `in` that `to_source` maps the pixel to. If the
// place is outside `in`, or behind the viewer, the pixel becomes `fill`. No place of an affine map
// may lie farther away than 2^30 pixels.

// The bilinear mean of the four pixels around the place; in the half pixel at the edge, the edge
// pixel itself. Like Pillow's Image.transform(AFFINE, BILINEAR), except that Pillow truncates
// fractions and this function rounds.
void WarpBilinear(const Pixels& in, const Projection& to_source, const std::uint8_t* fill,
                  const Pixels& out) noexcept;
// The pixel that the place lies in: Pillow's NEAREST, which counts places in 2^-16 of a pixel.
// Pixels may have any number of bytes: their `channels`.
void WarpNearest(const Pixels& in, const Projection& to_source, const std::uint8_t* fill,
                 const Pixels& out) noexcept;

// Blur and Sharpness filter neighbouring pixels. Both keep their memory from picture to picture;
// one thread at a time.
class Blur {
 public:
  // Weighted means along both axes, first rounded to 1/64 and at the end to whole values. `weights`
  // (in 1/65536) are those up to the middle one, which is centred on the pixel; the others mirror
  // them, and all add up to 65536. The picture is mirrored at its edges (without repeating the
  // outermost pixel) and must be larger than half of the weights on both axes.
  void Run(const Pixels& pixels, std::span<const std::uint32_t> weights);

 private:
  std::vector<std::int16_t> weights_;
  std::vector<std::int16_t> wide_;  // the picture, with mirrored rows above and below
  std::vector<std::int16_t> line_;  // a row after the vertical pass, in 1/64, with mirrored ends
};

class Sharpness {
 public:
  // `factor` blends between a smoothed picture (0) and the picture (1), or beyond: Pillow's
  // ImageEnhance.Sharpness. Smoothing is a mean of 3 x 3 pixels, the middle one counted five times;
  // the outermost pixels are left as they are.
  void Run(const Pixels& pixels, float factor);

 private:
  std::vector<std::uint8_t> smooth_;          // a smoothed row
  std::vector<std::uint8_t> above_, before_;  // the row above and this one, as they were
};

}  // namespace sluice
