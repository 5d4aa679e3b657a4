// From decoded pixels to the pixels that are stored: turned upright, cut, resampled and padded.
#pragma once

#include "format/pixels/resample.h"
#include "writer/fit/geometry.h"
#include "writer/source/orientation.h"
#include "writer/source/picture.h"

namespace sluice {

// `picture` was decoded at 1/reduction of stored_width x stored_height, which are in the
// orientation of the file; `geometry` is in the one to be seen.
Picture FitPicture(Picture picture, std::uint32_t reduction, std::uint32_t stored_width,
                   std::uint32_t stored_height, Orientation orientation,
                   const FittedGeometry& geometry, Resampler& resampler);

// What a geometry takes of a stored picture, along the stored axes and in full-size pixels, and how
// many pixels it becomes along them.
struct StoredPart {
  Axis x, y;
};
StoredPart StoredPartOf(std::uint32_t stored_width, std::uint32_t stored_height,
                        Orientation orientation, const FittedGeometry& geometry);

// The last steps: `picture` is the resampled StoredPart, mirrored as that says.
Picture TurnAndPad(Picture picture, Orientation orientation, const FittedGeometry& geometry);

// Grey values three times each.
Picture GreyToRgb(const Picture& grey);

}  // namespace sluice
