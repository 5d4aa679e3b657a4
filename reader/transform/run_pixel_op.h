// Runs an operation of pixel_op.h on a picture, in place.
#pragma once

#include "format/pixels/steps/colour.h"
#include "reader/transform/pixel_op.h"

namespace sluice {

void RunPixelOp(const PixelOp& op, const Pixels& pixels) noexcept;

}  // namespace sluice
