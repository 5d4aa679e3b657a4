// Runs one operation of RandAugment or TrivialAugmentWide on a picture.
#pragma once

#include "reader/transform/augment.h"
#include "reader/transform/pixel_steps.h"

namespace sluice::test {

inline void RunAugment(AugmentKind kind, double magnitude, bool bilinear,
                       const std::array<std::uint8_t, 3>& fill, const Pixels& pixels) {
  PixelOps ops;
  AddAugment(kind, magnitude, bilinear, fill, pixels, ops);
  StepScratch scratch;
  RunPixelOps(ops.at, ops.count, pixels, scratch);
}

}  // namespace sluice::test
