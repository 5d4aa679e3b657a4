// What any step of a pipeline may do to the frame, as declared (GeometricStep in framing.h). All
// are false for steps that are not geometric.
#pragma once

#include <sluice/transform.h>

namespace sluice {

// Only mirrors and turns the picture, by quarters: each pixel keeps its value.
bool Turns(const Transform& step) noexcept;
// May swap width and height.
bool SwapsSides(const Transform& step) noexcept;
// Adds a second pass over the row.
bool Warps(const Transform& step) noexcept;
// May show another part of the picture each time.
bool DrawsPart(const Transform& step) noexcept;

}  // namespace sluice
