#include "reader/transform/view_program.h"

#include <algorithm>

#include <sluice/error.h>

#include "reader/transform/batch_mix.h"
#include "reader/transform/step_kind.h"

namespace sluice {

namespace {

// Whether a step mixes batches by blending pictures or, if `cut`, by cutting rectangles.
bool HasMix(const Pipeline& steps, bool cut) noexcept {
  return std::any_of(steps.begin(), steps.end(), [cut](const Transform& step) {
    const std::optional<MixStep> mix = MixStepOf(step);
    return mix && mix->cut == cut;
  });
}

}  // namespace

DevicePart DevicePartOf(const LoaderOptions& options) noexcept {
  // Blending and the user's functions need the final numbers, on the host.
  if (options.device.is_host() || options.sample_function || options.batch_function ||
      HasMix(options.transform, false)) {
    return DevicePart::kNone;
  }
  // Cutting can run before Normalize, but only after the steps that change pixels.
  if (!options.on_device.steps || HasMix(options.transform, true)) return DevicePart::kNumbers;
  return DevicePart::kSteps;
}

std::vector<ViewProgram> ViewsOf(const LoaderOptions& options) {
  constexpr std::size_t kMostViews = 64;
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, "LoaderOptions::views: " + what);
  };
  const DevicePart part = DevicePartOf(options);
  std::vector<ViewProgram> views;
  views.push_back(
      {"", Geometry(options.transform, options.sizes), PixelProgram(options.transform, part)});
  if (!options.views.empty() &&
      (HasMix(options.transform, false) || HasMix(options.transform, true))) {
    refuse("MixUp and CutMix cannot be used with several views");
  }
  if (options.views.size() > kMostViews) refuse("there can be at most 64 views");
  for (const View& view : options.views) {
    if (view.name.empty()) refuse("every view needs a name, for Batch::image(name)");
    const auto same = [&view](const ViewProgram& other) { return other.name == view.name; };
    if (std::any_of(views.begin(), views.end(), same)) {
      refuse("two views have the name \"" + view.name + "\"");
    }
    if (std::any_of(view.transform.begin(), view.transform.end(), ConcernsBatch)) {
      refuse("OneHot, MixUp and CutMix belong in LoaderOptions::transform, not in a view");
    }
    try {
      views.push_back(
          {view.name, Geometry(view.transform, view.sizes), PixelProgram(view.transform, part)});
    } catch (const Error& error) {
      throw Error(error.code(), "LoaderOptions::views, \"" + view.name + "\"", error.sentence());
    }
  }
  return views;
}

}  // namespace sluice
