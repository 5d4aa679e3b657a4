// Fits key points to their stored image: turns, moves and scales them.
#pragma once

#include <span>

#include "writer/fit/placement.h"

namespace sluice {

// `points`: x, y, visibility each, changed in place. With `relative`, x and y are fractions of the
// placement's width and height. A point outside what is stored gets visibility 0; one that has it
// already, and so no place, keeps its numbers.
void FitPoints(std::span<float> points, bool relative, const Placement& placement);

}  // namespace sluice
