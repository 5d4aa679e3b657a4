// From decoded pixels to stored pixels: turned upright, cut, resampled and padded.
#pragma once

#include "format/pixels/resample.h"
#include "writer/fit/geometry.h"
#include "writer/source/images/orientation.h"
#include "writer/source/images/pixel_source.h"

namespace sluice {

// `picture` was decoded at 1/reduction of stored_width x stored_height, in the orientation of the
// file; `geometry` is in the upright orientation.
Picture FitPicture(Picture picture, std::uint32_t reduction, std::uint32_t stored_width,
                   std::uint32_t stored_height, Orientation orientation,
                   const FittedGeometry& geometry, Resampler& resampler);

// The part of a stored picture that a geometry takes, along the stored axes and in full-size
// pixels, and the number of pixels it becomes along them.
struct StoredPart {
  Axis x, y;
};
StoredPart StoredPartOf(std::uint32_t stored_width, std::uint32_t stored_height,
                        Orientation orientation, const FittedGeometry& geometry);

// The last steps. `picture` is the resampled StoredPart, mirrored as the part says.
Picture TurnAndPad(Picture picture, Orientation orientation, const FittedGeometry& geometry);

// Repeats each grey value three times.
Picture GreyToRgb(const Picture& grey);

}  // namespace sluice
