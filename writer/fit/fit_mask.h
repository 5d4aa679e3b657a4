// Masks follow their images: the same turn, cut and size, each pixel that of the nearest source
// one.
#pragma once

#include "writer/fit/placement.h"
#include "writer/source/mask_source.h"

namespace sluice {

// `mask` has the size of the placement's file. Where the image was padded the values are 0.
MaskPicture FitMask(MaskPicture mask, const Placement& placement);

}  // namespace sluice
