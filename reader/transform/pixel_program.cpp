// StageOf() holds the order of a pipeline: steps that move pixels, steps that change them,
// Normalize, and then the steps for batches. It gives each step a random stream by its kind and the
// number of earlier steps of that kind. So a step draws the same, whether the host runs it or a
// device does.
//
// A device can only continue where the host stops. So LeaveSteps() goes from the last step towards
// the first, and ends at the first step that does not fit. DevicePartOf() says when nothing can be
// left to it.
#include "reader/transform/pixel_program.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <sluice/error.h>

#include "format/random.h"
#include "reader/transform/all_steps.h"
#include "reader/transform/batch_mix.h"
#include "reader/transform/step.h"
#include "reader/transform/steps.h"

namespace sluice {

namespace {

// The table for pixels without Normalize: each value stays itself, in three channels.
constexpr std::array<std::byte, 768> kOwnValues = [] {
  std::array<std::byte, 768> values{};
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::byte>(i % 256);
  return values;
}();

// "blur": the step's word in ParsePipeline().
std::string StepWord(const Transform& step) {
  const std::string_view text = std::visit(
      []<class Step>(const Step&) { return std::string_view(StepOf<Step>::kText); }, step);
  return std::string(text.substr(0, text.find_first_of(":[")));
}

}  // namespace

PixelProgram::PixelProgram(const std::vector<PipelineStage>& stages, DevicePart part, bool wide)
    : part_(part), wide_(wide) {
  for (const PipelineStage& from : stages) {
    numbers_.reset();  // all stages have the same numbers
    wide_numbers_.reset();
    Stage& stage = stages_.emplace_back(StageOf(from.steps));
    if (part_ == DevicePart::kSteps) LeaveSteps(stage);
  }
}

PixelProgram::Stage PixelProgram::StageOf(const Pipeline& pipeline) {
  Stage stage;
  std::uint16_t uses[256] = {};
  bool batch_steps = false;
  for (const Transform& step : pipeline) {
    if (ConcernsBatch(step)) {
      batch_steps = true;
      continue;
    }
    if (batch_steps) {
      RefuseTransform("OneHot, MixUp, CutMix and CopyPaste must come last; put " + StepName(step) +
                      " before them");
    }
    if (numbers_ || wide_numbers_) {
      RefuseTransform("only OneHot, MixUp, CutMix and CopyPaste can follow Normalize; put " +
                      StepName(step) + " before it");
    }
    if (ChangesPixels(step)) {
      CheckParameters(step);
      const std::uint8_t kind = DrawKind(step);
      stage.steps.push_back(
          {step, static_cast<std::uint16_t>(uses[kind]++ << 8 | kind), StepWord(step)});
    } else if (const auto* const normalize = std::get_if<Normalize>(&step)) {
      if (wide_) {
        CheckNumbers(*normalize);
        wide_numbers_ = *normalize;
      } else {
        numbers_.emplace(*normalize);
      }
    } else if (!stage.steps.empty()) {
      RefuseTransform("steps that change pixels must come after those that move them; put " +
                      StepName(step) + " before " + StepName(stage.steps.front().transform));
    }
  }
  stage.steps_here = stage.steps.size();
  return stage;
}

void PixelProgram::LeaveSteps(Stage& stage) {
  std::size_t left = 0;
  while (stage.steps_here > 0) {
    const Transform& last = stage.steps[stage.steps_here - 1].transform;
    const std::size_t ops = MaxOps(last);
    if (left + ops > kMaxDeviceOps) break;
    left += ops;
    const DeviceNeed need = NeedOf(last);
    need_ = {need_.whole || need.whole, std::max(need_.spare_bytes, need.spare_bytes)};
    --stage.steps_here;
  }
  device_ops_ = std::max(device_ops_, left);
}

bool PixelProgram::empty() const noexcept {
  return !numbers_ && !wide_numbers_ &&
         std::ranges::all_of(stages_, [](const Stage& stage) { return stage.steps.empty(); });
}

std::span<const std::byte> PixelProgram::numbers() const noexcept {
  return numbers_ ? numbers_->bits() : std::span<const std::byte>(kOwnValues);
}

bool PixelProgram::moves() const noexcept {
  return std::ranges::any_of(stages_, [](const Stage& stage) {
    return std::ranges::any_of(stage.steps,
                               [](const Step& step) { return MayMovePixels(step.transform); });
  });
}

void PixelProgram::CheckSize(std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                             std::size_t stage) const {
  if (empty()) return;
  if (channels != 1 && channels != 3) {
    RefuseTransform(
        "steps that change pixels need images of one or three channels, and these have " +
        std::to_string(channels));
  }
  if (numbers_ && !numbers_->Fits(channels)) {
    RefuseTransform("Normalize has three means or deviations, but the images have one channel");
  }
  for (const Step& step : stages_[stage].steps)
    CheckStepFits(step.transform, width, height);
}

void PixelProgram::CheckWide(const std::string& of, std::uint32_t width, std::uint32_t height,
                             std::uint32_t channels, std::size_t stage) const {
  for (const Step& step : stages_[stage].steps) {
    if (!FitsWide(step.transform)) {
      RefuseTransform(StepText(step.transform) + " is for 8-bit pictures, and not for " + of +
                      "; leave it out. Their values can be changed by ColorJitter of brightness "
                      "and contrast alone, GaussianBlur and RandomErasing");
    }
    if (HasColour(step.transform)) {
      RefuseTransform(StepName(step.transform) +
                      " has a value that is not black, which is for 8-bit pictures, and not for " +
                      of + "; leave the value out");
    }
    CheckStepFits(step.transform, width, height);
  }
  if (!wide_numbers_) return;
  for (const auto& [numbers, what] : {std::pair{&wide_numbers_->mean, "mean"},
                                      std::pair{&wide_numbers_->deviation, "deviation"}}) {
    if (numbers->size() == 1 || numbers->size() == channels) continue;
    RefuseTransform("Normalize has " + std::to_string(numbers->size()) + " numbers as " + what +
                    ", and batches have " + std::to_string(channels) + " channels of " + of +
                    "; give one number, or one for each of these channels");
  }
}

namespace {

// Draws whether the step runs, and its operations.
template <class Step>
void DrawInto(const Step& step, const Pixels& shape, std::uint64_t draw_seed,
              std::uint64_t position, PixelOps& drawn) {
  drawn.count = 0;
  RandomStream draws(draw_seed, Purpose::kPixelTransform, position, step.stream);
  DrawStep(step.transform, shape, draws, drawn);
}

}  // namespace

void PixelProgram::DrawWide(const Pixels& shape, std::uint64_t draw_seed, std::uint64_t position,
                            std::size_t stage, std::vector<PixelOp>& ops) const {
  ops.clear();
  PixelOps drawn;
  for (const Step& step : stages_[stage].steps) {
    DrawInto(step, shape, draw_seed, position, drawn);
    ops.insert(ops.end(), drawn.at, drawn.at + drawn.count);
  }
}

void PixelProgram::Run(const Pixels& pixels, std::uint64_t draw_seed, std::uint64_t position,
                       StepScratch& scratch, std::size_t stage) const {
  const std::vector<Step>& steps = stages_[stage].steps;
  // All steps are drawn first, so that colour steps of several of them run together. If times are
  // taken, each step runs by itself: what runs together cannot be told apart.
  scratch.ops.clear();
  PixelOps drawn;
  for (std::size_t s = 0; s < stages_[stage].steps_here; ++s) {
    DrawInto(steps[s], pixels, draw_seed, position, drawn);
    if (scratch.times != nullptr && drawn.count > 0) {
      const PartClock clock(scratch.times, steps[s].word, true);
      RunPixelOps(drawn.at, drawn.count, pixels, scratch);
    } else {
      scratch.ops.insert(scratch.ops.end(), drawn.at, drawn.at + drawn.count);
    }
  }
  RunPixelOps(scratch.ops.data(), scratch.ops.size(), pixels, scratch);
}

void PixelProgram::DrawOps(const Pixels& shape, std::uint64_t draw_seed, std::uint64_t position,
                           std::span<PixelOp> ops, std::size_t stage) const {
  const std::vector<Step>& steps = stages_[stage].steps;
  std::size_t count = 0;
  PixelOps drawn;
  for (std::size_t s = stages_[stage].steps_here; s < steps.size(); ++s) {
    DrawInto(steps[s], shape, draw_seed, position, drawn);
    std::copy_n(drawn.at, drawn.count, ops.begin() + static_cast<std::ptrdiff_t>(count));
    count += drawn.count;
  }
  if (count < ops.size()) ops[count].kind = PixelOpKind::kEnd;
}

void PixelProgram::Write(const Pixels& pixels, PixelOrder order, std::uint8_t* target) const {
  if (output()) return numbers_->Write(pixels, order, target);
  if (order == PixelOrder::kInterleaved || pixels.channels == 1) {
    std::memcpy(target, pixels.data, pixels.bytes());
    return;
  }
  const std::size_t count = std::size_t{pixels.width} * pixels.height;
  if (pixels.channels != 3) {
    for (std::uint32_t c = 0; c < pixels.channels; ++c)
      for (std::size_t i = 0; i < count; ++i)
        *target++ = pixels.data[i * pixels.channels + c];
    return;
  }
  EachPlaneRun(pixels,
               [&](std::size_t c, const std::uint8_t* values, std::size_t now, std::size_t begin) {
                 std::copy_n(values, now, target + c * count + begin);
               });
}

namespace {

// Whether a step mixes batches or, if `blends`, mixes them by blending pictures.
bool HasMix(const LoaderOptions& options, bool blends) noexcept {
  const auto mixes = [blends](const Transform& step) {
    const std::optional<MixStep> mix = MixStepOf(step);
    return mix && (!blends || mix->kind == MixKind::kBlend);
  };
  return InAnyEpoch(options.transform, options.schedule,
                    [&](const Pipeline& steps) { return std::ranges::any_of(steps, mixes); });
}

ViewProgram ProgramOf(const std::string& name, const std::vector<PipelineStage>& stages,
                      DevicePart part, bool wide) {
  return {name, Geometry(stages), PixelProgram(stages, part, wide)};
}

}  // namespace

bool Blends(const LoaderOptions& options) noexcept {
  return HasMix(options, true);
}

bool MixesPictures(const LoaderOptions& options) noexcept {
  return HasMix(options, false);
}

DevicePart DevicePartOf(const LoaderOptions& options) noexcept {
  // Blending and the user's functions need the final numbers on the host, and a device converts
  // only images that all have one size.
  if (options.device.is_host() || options.output.image_sizes != ImageSizes::kEqual ||
      options.sample_function || options.batch_function || Blends(options)) {
    return DevicePart::kNone;
  }
  // Cutting and pasting can run before Normalize, but only after the steps that change pixels.
  if (!options.on_device.steps || MixesPictures(options)) return DevicePart::kNumbers;
  return DevicePart::kSteps;
}

std::vector<ViewProgram> ViewsOf(const LoaderOptions& options, bool wide) {
  constexpr std::size_t kMaxViews = 64;
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, "LoaderOptions::views: " + what);
  };
  const DevicePart part = wide ? DevicePart::kNone : DevicePartOf(options);
  std::vector<ViewProgram> views;
  views.push_back(
      ProgramOf("", StagesOf(options.transform, options.sizes, options.schedule), part, wide));
  if (!options.views.empty() && MixesPictures(options)) {
    refuse("MixUp, CutMix and CopyPaste cannot be used with several views");
  }
  if (options.views.size() > kMaxViews) refuse("there can be at most 64 views");
  for (const View& view : options.views) {
    if (view.name.empty()) refuse("every view needs a name, for Batch::image(name)");
    const auto same = [&view](const ViewProgram& other) { return other.name == view.name; };
    if (std::ranges::any_of(views, same)) {
      refuse("two views have the name \"" + view.name + "\"");
    }
    try {
      const std::vector<PipelineStage> stages = StagesOf(view.transform, view.sizes, view.schedule);
      for (const PipelineStage& stage : stages) {
        if (std::ranges::any_of(stage.steps, ConcernsBatch))
          RefuseTransform(
              "OneHot, MixUp, CutMix and CopyPaste belong in LoaderOptions::transform, not in "
              "a view");
      }
      views.push_back(ProgramOf(view.name, stages, part, wide));
    } catch (const Error& error) {
      throw Error(error.code(), "LoaderOptions::views, \"" + view.name + "\"", error.sentence());
    }
  }
  return views;
}

}  // namespace sluice
