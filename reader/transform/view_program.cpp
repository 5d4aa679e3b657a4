#include "reader/transform/view_program.h"

#include <algorithm>

#include <sluice/error.h>

#include "reader/transform/batch_mix.h"
#include "reader/transform/step_kind.h"
#include "reader/transform/step_parameters.h"

namespace sluice {

namespace {

// Whether a step mixes batches by blending pictures or, if `cut`, by cutting rectangles.
bool HasMix(const LoaderOptions& options, bool cut) noexcept {
  const auto mixes = [cut](const Transform& step) {
    const std::optional<MixStep> mix = MixStepOf(step);
    return mix && mix->cut == cut;
  };
  const auto has = [&mixes](const Pipeline& steps) {
    return std::any_of(steps.begin(), steps.end(), mixes);
  };
  return has(options.transform) ||
         std::any_of(options.schedule.begin(), options.schedule.end(),
                     [&has](const ScheduledTransform& later) { return has(later.transform); });
}

ViewProgram ProgramOf(const std::string& name, const std::vector<PipelineStage>& stages,
                      DevicePart part) {
  return {name, Geometry(stages), PixelProgram(stages, part)};
}

}  // namespace

bool MixesPictures(const LoaderOptions& options) noexcept {
  return HasMix(options, false) || HasMix(options, true);
}

DevicePart DevicePartOf(const LoaderOptions& options) noexcept {
  // Blending and the user's functions need the final numbers, on the host; and a device converts
  // images of one size.
  if (options.device.is_host() || options.output.image_sizes != ImageSizes::kEqual ||
      options.sample_function || options.batch_function || HasMix(options, false)) {
    return DevicePart::kNone;
  }
  // Cutting can run before Normalize, but only after the steps that change pixels.
  if (!options.on_device.steps || HasMix(options, true)) return DevicePart::kNumbers;
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
      ProgramOf("", StagesOf(options.transform, options.sizes, options.schedule), part));
  if (!options.views.empty() && MixesPictures(options)) {
    refuse("MixUp and CutMix cannot be used with several views");
  }
  if (options.views.size() > kMostViews) refuse("there can be at most 64 views");
  for (const View& view : options.views) {
    if (view.name.empty()) refuse("every view needs a name, for Batch::image(name)");
    const auto same = [&view](const ViewProgram& other) { return other.name == view.name; };
    if (std::any_of(views.begin(), views.end(), same)) {
      refuse("two views have the name \"" + view.name + "\"");
    }
    try {
      const std::vector<PipelineStage> stages = StagesOf(view.transform, view.sizes, view.schedule);
      for (const PipelineStage& stage : stages) {
        if (std::any_of(stage.steps.begin(), stage.steps.end(), ConcernsBatch))
          RefuseTransform(
              "OneHot, MixUp and CutMix belong in LoaderOptions::transform, not in a "
              "view");
      }
      views.push_back(ProgramOf(view.name, stages, part));
    } catch (const Error& error) {
      throw Error(error.code(), "LoaderOptions::views, \"" + view.name + "\"", error.sentence());
    }
  }
  return views;
}

}  // namespace sluice
