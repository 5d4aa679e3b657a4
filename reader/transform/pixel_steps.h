// The steps that change pixels: what they draw for a picture, and how the host runs that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sluice/transform.h>

#include "format/pixels/steps/steps.h"
#include "format/random.h"
#include "reader/transform/part_times.h"
#include "reader/transform/pixel_op.h"
#include "reader/transform/step.h"
#include "reader/transform/steps.h"

namespace sluice {

// One thread's scratch memory, reused from picture to picture.
struct StepScratch {
  std::vector<PixelOp> ops;
  std::vector<ColourStep> colour_steps;
  ColourSteps colours;
  std::vector<std::uint32_t> weights;
  Blur blur;
  Sharpness sharpness;
  std::vector<std::uint8_t> before;  // the picture as it was before a warp
  PartTimes* times = nullptr;        // if set, each step is timed
};

// Runs operations of pixel_op.h on a picture, in place: in order, up to a kEnd or `count` of them.
void RunPixelOps(const PixelOp* ops, std::size_t count, const Pixels& pixels, StepScratch& scratch);

// Whether a step that changes pixels may also move them, so that no mask or box can follow. False
// for all other steps.
bool MayMovePixels(const Transform& step) noexcept;

// The following functions are only for steps that change pixels.

// The number of the step's kind. It is part of every draw's counter: never change it.
std::uint8_t DrawKind(const Transform& step) noexcept;
// Throws Error(kInvalidArgument) if the step does not fit pictures of that size.
void CheckStepFits(const Transform& step, std::uint32_t width, std::uint32_t height);
// Whether the step is also for wide images.
bool FitsWide(const Transform& step) noexcept;
// The most operations that the step adds, words included.
std::size_t MaxOps(const Transform& step) noexcept;
// The needs of the step's operations on a device.
DeviceNeed NeedOf(const Transform& step) noexcept;
// Draws whether the step runs, and its operations for a picture of that shape (the pixels are not
// read).
void DrawStep(const Transform& step, const Pixels& shape, RandomStream& draws, PixelOps& ops);

}  // namespace sluice
