// The programs that make one view of a sample's image: one for LoaderOptions::transform, and one
// for each further view.
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

// The part of the steps that LoaderOptions::device does, the same for every view.
DevicePart DevicePartOf(const LoaderOptions& options) noexcept;

// Whether MixUp or CutMix mixes the pictures of a batch in some epoch.
bool MixesPictures(const LoaderOptions& options) noexcept;

// The first is for LoaderOptions::transform. Throws Error(kInvalidArgument).
std::vector<ViewProgram> ViewsOf(const LoaderOptions& options);

}  // namespace sluice
