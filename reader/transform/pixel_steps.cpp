// Drawing and running are separate. A step's declaration draws operations (pixel_op.h) from the
// shape of the picture alone, and RunPixelOps() runs them. So the host can draw operations that a
// device runs. An operation's parameters may follow it as words: weights, a map, or a place in a
// random stream. The loop skips these entries, since they have a kind of their own (kWords). A
// number is drawn for the probability even if the step always runs.
#include "reader/transform/pixel_steps.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "format/pixels/kernels/kernels.h"
#include "format/pixels/steps/steps.h"
#include "format/random.h"
#include "reader/transform/all_steps.h"

namespace sluice {

namespace {

// Calls `visit` with the declaration and value of a step that changes pixels; returns `other` for
// other steps.
template <class Result, class Visit>
Result OfPixelStep(const Transform& step, Result other, const Visit& visit) {
  return std::visit(
      [&]<class Step>(const Step& op) -> Result {
        if constexpr (StepOf<Step>::kKind == StepKind::kPixels) {
          return visit(StepOf<Step>{}, op);
        } else {
          return other;
        }
      },
      step);
}

}  // namespace

bool MayMovePixels(const Transform& step) noexcept {
  return OfPixelStep(step, false, []<class Of>(Of, const auto&) { return Of::kMovesPixels; });
}

std::uint8_t DrawKind(const Transform& step) noexcept {
  return OfPixelStep(step, std::uint8_t{0}, []<class Of>(Of, const auto&) { return Of::kDraws; });
}

void CheckStepFits(const Transform& step, std::uint32_t width, std::uint32_t height) {
  OfPixelStep(step, 0, [=]<class Of>(Of, const auto& op) {
    Of::CheckFits(op, width, height);
    return 0;
  });
}

bool FitsWide(const Transform& step) noexcept {
  return OfPixelStep(step, false, []<class Of>(Of, const auto& op) { return Of::FitsWide(op); });
}

std::size_t MaxOps(const Transform& step) noexcept {
  return OfPixelStep(step, std::size_t{0},
                     []<class Of>(Of, const auto& op) { return Of::MaxOps(op); });
}

DeviceNeed NeedOf(const Transform& step) noexcept {
  return OfPixelStep(step, DeviceNeed{}, []<class Of>(Of, const auto& op) { return Of::Need(op); });
}

void DrawStep(const Transform& step, const Pixels& shape, RandomStream& draws, PixelOps& ops) {
  OfPixelStep(step, 0, [&]<class Of>(Of, const auto& op) {
    // Uniform() is below 1, so a step with probability 1 always runs.
    if (draws.Uniform() < Of::ChanceOf(op)) Of::Draw(op, shape, draws, ops);
    return 0;
  });
}

namespace {

// Calls `change` for each row of the rectangle, with a pointer to the row's first value.
template <class Change>
void ChangeRectangle(const PixelOp& op, const Pixels& pixels, const Change& change) {
  for (std::size_t y = op.top; y < std::size_t{op.top} + op.height; ++y)
    change(pixels.data + (y * pixels.width + op.left) * pixels.channels);
}

void Erase(const PixelOp& op, const Pixels& pixels) {
  const std::size_t channels = pixels.channels, bytes = op.width * channels;
  const std::uint8_t* first = nullptr;  // the first row, which the others copy
  ChangeRectangle(op, pixels, [&](std::uint8_t* at) {
    if (first != nullptr) {
      std::memcpy(at, first, bytes);
      return;
    }
    for (std::size_t i = 0; i < bytes; i += channels)
      std::memcpy(at + i, op.value, channels);
    first = at;
  });
}

void EraseWithNoise(const PixelOp* op, const Pixels& pixels) {
  // The stream's words from number op->number of its first block on.
  Words4 counter = {WordOf(op, 2), WordOf(op, 3), WordOf(op, 4), WordOf(op, 5)};
  constexpr std::uint32_t kBlocks = 256;
  std::uint8_t noise[4 * kBlocks];
  std::size_t used = 0;
  std::size_t unmade = op->number + std::size_t{op->width} * op->height * pixels.channels;
  const auto refill = [&] {
    const std::size_t bytes = std::min(unmade, sizeof(noise));
    kernels::Chosen().make_noise(Word64Of(op, 0), counter.data(), (bytes + 3) / 4, noise);
    counter[0] += kBlocks;
    unmade -= bytes;
    used = 0;
  };
  refill();
  used = op->number;
  ChangeRectangle(*op, pixels, [&](std::uint8_t* at) {
    for (std::size_t left = std::size_t{op->width} * pixels.channels; left > 0;) {
      if (used == sizeof(noise)) refill();
      const std::size_t now = std::min(left, sizeof(noise) - used);
      std::memcpy(at, noise + used, now);
      at += now;
      used += now;
      left -= now;
    }
  });
}

void RunBlur(const PixelOp* op, const Pixels& pixels, StepScratch& scratch) {
  scratch.weights.resize(op->number / 2 + 1);
  for (std::uint32_t tap = 0; tap < scratch.weights.size(); ++tap)
    scratch.weights[tap] = WeightOf(op, tap);
  scratch.blur.Run(pixels, scratch.weights);
}

void Warp(const PixelOp* op, const Pixels& pixels, std::vector<std::uint8_t>& before) {
  const auto number = [op](std::uint32_t i) { return std::bit_cast<double>(Word64Of(op, 2 * i)); };
  const AffineMap to_source{number(0), number(1), number(2), number(3), number(4), number(5)};
  // A copy, since a warp reads pixels that it has already overwritten.
  before.assign(pixels.data, pixels.data + pixels.bytes());
  const Pixels in{before.data(), pixels.width, pixels.height, pixels.channels};
  const auto warp = op->kind == PixelOpKind::kWarpBilinear ? &WarpBilinear : &WarpNearest;
  warp(in, to_source, op->value, pixels);
}

void RunPixelOp(const PixelOp* op, const Pixels& pixels, StepScratch& scratch) {
  switch (op->kind) {
    case PixelOpKind::kErase: return Erase(*op, pixels);
    case PixelOpKind::kNoise: return EraseWithNoise(op, pixels);
    case PixelOpKind::kSharpen: return scratch.sharpness.Run(pixels, op->factor);
    case PixelOpKind::kBlur: return RunBlur(op, pixels, scratch);
    case PixelOpKind::kWarpNearest:
    case PixelOpKind::kWarpBilinear: return Warp(op, pixels, scratch.before);
    case PixelOpKind::kEnd:
    case PixelOpKind::kWords:
    case PixelOpKind::kBrightness:
    case PixelOpKind::kContrast:
    case PixelOpKind::kSaturation:
    case PixelOpKind::kHue:
    case PixelOpKind::kHsv:
    case PixelOpKind::kExchange:
    case PixelOpKind::kGrey:
    case PixelOpKind::kInvert:
    case PixelOpKind::kSolarize:
    case PixelOpKind::kPosterize:
    case PixelOpKind::kStretch:
    case PixelOpKind::kEqualize: return;  // ColourStepOf() has them
  }
}

// The operation as a step of ColourSteps, if it is one.
std::optional<ColourStep> ColourStepOf(const PixelOp& op) noexcept {
  using Kind = ColourStep::Kind;
  switch (op.kind) {
    case PixelOpKind::kBrightness: return ColourStep{Kind::kBrightness, op.factor};
    case PixelOpKind::kContrast: return ColourStep{Kind::kContrast, op.factor};
    case PixelOpKind::kSaturation: return ColourStep{Kind::kSaturation, op.factor};
    case PixelOpKind::kHue: return ColourStep{Kind::kHue, op.factor};
    case PixelOpKind::kHsv:
      return ColourStep{Kind::kHsv, op.factor, 0, SaturationOf(op), ValueOf(op)};
    case PixelOpKind::kExchange: return ColourStep{Kind::kExchange, 0, op.number};
    case PixelOpKind::kGrey: return ColourStep{Kind::kGrey};
    case PixelOpKind::kInvert: return ColourStep{Kind::kSolarize, 0, 0};
    case PixelOpKind::kSolarize: return ColourStep{Kind::kSolarize, 0, op.number};
    case PixelOpKind::kPosterize: return ColourStep{Kind::kPosterize, 0, op.number};
    case PixelOpKind::kStretch: return ColourStep{Kind::kStretch};
    case PixelOpKind::kEqualize: return ColourStep{Kind::kEqualize};
    default: return std::nullopt;
  }
}

}  // namespace

void RunPixelOps(const PixelOp* ops, std::size_t count, const Pixels& pixels,
                 StepScratch& scratch) {
  // Colour steps in a row run together.
  const auto run_colours = [&] {
    if (!scratch.colour_steps.empty()) scratch.colours.Run(pixels, scratch.colour_steps);
    scratch.colour_steps.clear();
  };
  for (std::size_t i = 0; i < count && ops[i].kind != PixelOpKind::kEnd; ++i) {
    if (const std::optional<ColourStep> step = ColourStepOf(ops[i])) {
      scratch.colour_steps.push_back(*step);
    } else if (ops[i].kind != PixelOpKind::kWords) {
      run_colours();
      RunPixelOp(ops + i, pixels, scratch);
    }
  }
  run_colours();
}

}  // namespace sluice
