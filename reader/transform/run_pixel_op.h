// Runs operations of pixel_op.h on a picture, in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "format/pixels/steps/steps.h"
#include "reader/transform/pixel_op.h"

namespace sluice {

// One thread's scratch memory, reused from picture to picture.
struct StepScratch {
  std::vector<std::uint32_t> weights;
  Blur blur;
  Sharpness sharpness;
  std::vector<std::uint8_t> before;
};

// Runs them in order, up to a kEnd or `count` of them.
void RunPixelOps(const PixelOp* ops, std::size_t count, const Pixels& pixels, StepScratch& scratch);

}  // namespace sluice
