#include "reader/transform/pixel_program.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <sluice/error.h>

#include "format/random.h"
#include "reader/transform/step_kind.h"
#include "reader/transform/step_parameters.h"

namespace sluice {

PixelProgram::PixelProgram(const Pipeline& pipeline, bool numbers_later)
    : numbers_later_(numbers_later) {
  std::uint16_t uses[256] = {};
  bool batch_steps = false;
  for (const Transform& step : pipeline) {
    if (ConcernsBatch(step)) {
      batch_steps = true;
      continue;
    }
    if (batch_steps) RefuseTransform("OneHot, MixUp and CutMix come last, behind all others");
    if (numbers_) {
      RefuseTransform(
          "Normalize is the last step but for OneHot, MixUp and CutMix; put it behind the others");
    }
    if (ChangesPixels(step)) {
      CheckStep(step);
      const std::uint8_t kind = DrawKind(step);
      steps_.push_back({step, static_cast<std::uint16_t>(uses[kind]++ << 8 | kind)});
    } else if (const auto* const normalize = std::get_if<Normalize>(&step)) {
      numbers_.emplace(*normalize);
    } else if (!steps_.empty()) {
      RefuseTransform(
          "steps that change pixels (ColorJitter, Normalize and so on) come behind those that "
          "move them (crops, resizes, flips); put these first");
    }
  }
}

bool PixelProgram::moves() const noexcept {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const Step& step) { return MayMovePixels(step.transform); });
}

void PixelProgram::CheckSize(std::uint32_t width, std::uint32_t height,
                             std::uint32_t channels) const {
  if (empty()) return;
  if (channels != 1 && channels != 3) {
    RefuseTransform(
        "steps that change pixels need images of one or three channels; set "
        "LoaderOptions::channels to 1 or 3");
  }
  if (numbers_ && !numbers_->Fits(channels)) {
    RefuseTransform("Normalize has three means or deviations, and the images one channel");
  }
  for (const Step& step : steps_)
    CheckStepFits(step.transform, width, height);
}

void PixelProgram::Run(const Pixels& pixels, std::uint64_t draw_seed, std::uint64_t position,
                       StepScratch& scratch) const {
  for (const Step& step : steps_) {
    RandomStream draws(draw_seed, Purpose::kPixelTransform, position, step.stream);
    RunStep(step.transform, pixels, draws, scratch);
  }
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
