// What is made of a sample's image: one of these for LoaderOptions::transform, and one for each
// further view.
#pragma once

#include <string>
#include <vector>

#include <sluice/loader_options.h>

#include "reader/transform/geometry.h"
#include "reader/transform/pixel_program.h"

namespace sluice {

struct ViewProgram {
  std::string name;  // empty for the first
  Geometry geometry;
  PixelProgram pixels;
};

// What LoaderOptions::device does of the steps: of every view the same.
DevicePart DevicePartOf(const LoaderOptions& options) noexcept;

// The first is LoaderOptions::transform's. Throws Error(kInvalidArgument).
std::vector<ViewProgram> ViewsOf(const LoaderOptions& options);

}  // namespace sluice
