#include "reader/transform/pixel_program.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <sluice/error.h>

#include "format/random.h"
#include "reader/transform/step_check.h"
#include "reader/transform/step_kind.h"
#include "reader/transform/step_parameters.h"
#include "reader/transform/step_text.h"

namespace sluice {

namespace {

// The table for pixels without Normalize: each value stays itself, in three channels.
constexpr std::array<std::byte, 768> kOwnValues = [] {
  std::array<std::byte, 768> values{};
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::byte>(i % 256);
  return values;
}();

}  // namespace

PixelProgram::PixelProgram(const std::vector<PipelineStage>& stages, DevicePart part)
    : part_(part) {
  for (const PipelineStage& from : stages) {
    numbers_.reset();  // the same in all stages
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
      RefuseTransform("OneHot, MixUp and CutMix must come last; put " + StepName(step) +
                      " before them");
    }
    if (numbers_) {
      RefuseTransform("only OneHot, MixUp and CutMix can follow Normalize; put " + StepName(step) +
                      " before it");
    }
    if (ChangesPixels(step)) {
      CheckParameters(step);
      const std::uint8_t kind = DrawKind(step);
      stage.steps.push_back({step, static_cast<std::uint16_t>(uses[kind]++ << 8 | kind)});
    } else if (const auto* const normalize = std::get_if<Normalize>(&step)) {
      numbers_.emplace(*normalize);
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
    const std::size_t ops = MostOps(last);
    if (left + ops > kMostDeviceOps) break;
    left += ops;
    const DeviceNeed need = NeedOf(last);
    need_ = {need_.whole || need.whole, std::max(need_.spare_bytes, need.spare_bytes)};
    --stage.steps_here;
  }
  device_ops_ = std::max(device_ops_, left);
}

bool PixelProgram::empty() const noexcept {
  return !numbers_ && std::all_of(stages_.begin(), stages_.end(),
                                  [](const Stage& stage) { return stage.steps.empty(); });
}

std::span<const std::byte> PixelProgram::numbers() const noexcept {
  return numbers_ ? numbers_->bits() : std::span<const std::byte>(kOwnValues);
}

bool PixelProgram::moves() const noexcept {
  return std::any_of(stages_.begin(), stages_.end(), [](const Stage& stage) {
    return std::any_of(stage.steps.begin(), stage.steps.end(),
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

void PixelProgram::Run(const Pixels& pixels, std::uint64_t draw_seed, std::uint64_t position,
                       StepScratch& scratch, std::size_t stage) const {
  const std::vector<Step>& steps = stages_[stage].steps;
  for (std::size_t s = 0; s < stages_[stage].steps_here; ++s) {
    RandomStream draws(draw_seed, Purpose::kPixelTransform, position, steps[s].stream);
    RunStep(steps[s].transform, pixels, draws, scratch);
  }
}

void PixelProgram::DrawOps(const Pixels& shape, std::uint64_t draw_seed, std::uint64_t position,
                           std::span<PixelOp> ops, std::size_t stage) const {
  const std::vector<Step>& steps = stages_[stage].steps;
  std::size_t count = 0;
  for (std::size_t s = stages_[stage].steps_here; s < steps.size(); ++s) {
    RandomStream draws(draw_seed, Purpose::kPixelTransform, position, steps[s].stream);
    PixelOps drawn;
    DrawStep(steps[s].transform, shape, draws, drawn);
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
  for (std::uint32_t c = 0; c < pixels.channels; ++c) {
    for (std::size_t i = 0; i < count; ++i)
      *target++ = pixels.data[i * pixels.channels + c];
  }
}

}  // namespace sluice
