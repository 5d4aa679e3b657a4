// Which part of the loader runs a step of a pipeline.
#pragma once

#include <sluice/transform.h>

namespace sluice {

// Moves pixels: Geometry runs it.
bool IsGeometric(const Transform& step) noexcept;
// Changes values of pixels: PixelProgram runs it. False for Normalize, which PixelProgram runs,
// too, but which only changes how pixels are written.
bool ChangesPixels(const Transform& step) noexcept;
// Draws random numbers.
bool DrawsNumbers(const Transform& step) noexcept;
// For labels and whole batches: BatchProgram runs it.
bool ConcernsBatch(const Transform& step) noexcept;

}  // namespace sluice
