// Which part of the loader takes a step of a pipeline.
#pragma once

#include <sluice/transform.h>

namespace sluice {

// Moves pixels: Geometry takes it.
bool IsGeometric(const Transform& step) noexcept;
// Changes pixels where they are: PixelProgram takes it. Normalize, which that takes, too, only
// writes them otherwise.
bool ChangesPixels(const Transform& step) noexcept;
// For labels and whole batches: BatchProgram takes it.
bool ConcernsBatch(const Transform& step) noexcept;

}  // namespace sluice
