// Which part of a picture becomes which part of the stored one: the options' sizes in numbers.
//
// All sizes are those of the upright picture, after its orientation is applied. A scaled side is
// rounded to the nearest whole number of pixels, half up, and is at least 1. `size` with `crop`
// takes the largest centred rectangle of the target's shape, whose edges may lie between pixels.
// With `pad`, the odd pixel of a margin goes to the right or the bottom.
#pragma once

#include <cstdint>

#include <sluice/convert.h>

#include "writer/source/images/orientation.h"

namespace sluice {

struct FittedGeometry {
  double left = 0, top = 0, width = 0, height = 0;  // the part taken, in pixels of the source
  std::uint32_t out_width = 0, out_height = 0;      // the size that the part is resampled to
  std::uint32_t x = 0, y = 0;                       // where it goes in the target
  std::uint32_t target_width = 0, target_height = 0;
  bool unchanged = false;  // nothing is resampled, cut off or added
};

// `width` and `height` are at least 1.
FittedGeometry FitGeometry(std::uint32_t width, std::uint32_t height,
                           const ConvertOptions& options);

// Whether the picture is smaller than `options.geometry.short_side`, or must be enlarged for
// `options.geometry.size`. For max_side no picture is too small.
bool IsSmallerThanTarget(const FittedGeometry& geometry, const ConvertOptions& options) noexcept;

// The largest of 1, 2, 4, 8 by which the source may be reduced while it is decoded. The reduced
// picture is at least twice as large as the target on both axes, so that the filter of the
// resampling decides the result.
std::uint32_t DecodeReduction(const FittedGeometry& geometry) noexcept;

// Where a picture's pixels went: from those of its file to those that are stored.
struct Placement {
  std::uint32_t stored_width = 0;  // size of the file's picture, as its rows are stored
  std::uint32_t stored_height = 0;
  Orientation orientation;
  FittedGeometry geometry;  // of the upright picture

  std::uint32_t upright_width() const noexcept {
    return orientation.transposed ? stored_height : stored_width;
  }
  std::uint32_t upright_height() const noexcept {
    return orientation.transposed ? stored_width : stored_height;
  }
  // As above, for annotations of the picture that is already upright.
  Placement Upright() const noexcept {
    return {upright_width(), upright_height(), Orientation{}, geometry};
  }
};

}  // namespace sluice
