// Functions for any step that changes pixels (steps/).
#pragma once

#include <cstdint>

#include <sluice/transform.h>

#include "format/random.h"
#include "reader/transform/pixel_step.h"
#include "reader/transform/run_pixel_op.h"
#include "reader/transform/step_kind.h"

namespace sluice {

// Whether a step that changes pixels may also move them, so that no mask or box can follow.
bool MayMovePixels(const Transform& step) noexcept;

// The following are only for steps of that kind.

// Part of every draw's counter: never change it.
std::uint8_t DrawKind(const Transform& step) noexcept;
// Throws Error(kInvalidArgument) if the step does not fit pictures of that size.
void CheckStepFits(const Transform& step, std::uint32_t width, std::uint32_t height);
// The most operations that the step adds, words included.
std::size_t MostOps(const Transform& step) noexcept;
// The needs of the step's operations on a device.
DeviceNeed NeedOf(const Transform& step) noexcept;
// Draws whether the step runs, and its operations for a picture of that shape (the pixels are not
// read).
void DrawStep(const Transform& step, const Pixels& shape, RandomStream& draws, PixelOps& ops);
// Draws whether the step runs, and runs it.
void RunStep(const Transform& step, const Pixels& pixels, RandomStream& draws,
             StepScratch& scratch);

}  // namespace sluice
