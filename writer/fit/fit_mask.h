// Fits masks to their stored images: the same turn, cut and size; each pixel takes the value of the
// nearest source pixel.
#pragma once

#include "writer/fit/placement.h"
#include "writer/source/images/png.h"

namespace sluice {

// `mask` has the size of the placement's file. Values in the padding of the image are 0.
MaskPicture FitMask(MaskPicture mask, const Placement& placement);

}  // namespace sluice
