// The steps that change pixels (steps/), whichever it is.
#pragma once

#include <cstdint>

#include <sluice/transform.h>

#include "format/random.h"
#include "reader/transform/pixel_step.h"
#include "reader/transform/run_pixel_op.h"
#include "reader/transform/step_kind.h"

namespace sluice {

// Whether a step that changes pixels may also move them, so that nothing can follow.
bool MayMovePixels(const Transform& step) noexcept;

// The following are for steps of that kind alone.

// Part of every draw's counter: never changed.
std::uint8_t DrawKind(const Transform& step) noexcept;
// Throws Error(kInvalidArgument) where the step does not fit pictures of that size.
void CheckStepFits(const Transform& step, std::uint32_t width, std::uint32_t height);
// How many operations the step comes to at most, words included.
std::size_t MostOps(const Transform& step) noexcept;
// What these may need of a device.
DeviceNeed NeedOf(const Transform& step) noexcept;
// Draws whether the step is taken, and what it does to a picture of that shape, whose data are not
// looked at.
void DrawStep(const Transform& step, const Pixels& shape, RandomStream& draws, PixelOps& ops);
// Draws whether the step is taken, and takes it.
void RunStep(const Transform& step, const Pixels& pixels, RandomStream& draws,
             StepScratch& scratch);

}  // namespace sluice
