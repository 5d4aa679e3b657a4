// The result of a pipeline's geometric steps: which part of a picture a sample shows, and how.
#pragma once

#include <array>
#include <cstdint>

#include "format/pixels/decode.h"
#include "format/pixels/steps/steps.h"

namespace sluice {

// Width and height of a picture, in pixels.
struct PictureExtent {
  std::uint32_t width = 0, height = 0;
  friend bool operator==(const PictureExtent&, const PictureExtent&) = default;
};

struct Frame {
  Region region;  // decoded and resampled at once
  // A second pass: the map of the region's target, in pixels, to a grid of the same size.
  bool warped = false;
  AffineMap warp;
  std::array<std::uint8_t, 3> warp_fill = {0, 0, 0};
  friend bool operator==(const Frame&, const Frame&) = default;
};

}  // namespace sluice
