#include "reader/transform/pixel_steps.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <sluice/error.h>

#include "reader/transform/augment.h"
#include "reader/transform/portable_math.h"
#include "reader/transform/step_parameters.h"
#include "reader/transform/step_text.h"

namespace sluice {

namespace {

// Kinds of step, part of every draw's counter: never changed.
enum class Kind : std::uint8_t {
  kColorJitter = 1,
  kRandomGrayscale = 2,
  kGaussianBlur = 3,
  kSolarize = 4,
  kPosterize = 5,
  kEqualize = 6,
  kAutoContrast = 7,
  kInvert = 8,
  kAdjustSharpness = 9,
  kRandomErasing = 10,
  kRandAugment = 11,
  kTrivialAugmentWide = 12,
};

Kind KindOf(const ColorJitter&) {
  return Kind::kColorJitter;
}
Kind KindOf(const RandomGrayscale&) {
  return Kind::kRandomGrayscale;
}
Kind KindOf(const GaussianBlur&) {
  return Kind::kGaussianBlur;
}
Kind KindOf(const Solarize&) {
  return Kind::kSolarize;
}
Kind KindOf(const Posterize&) {
  return Kind::kPosterize;
}
Kind KindOf(const Equalize&) {
  return Kind::kEqualize;
}
Kind KindOf(const AutoContrast&) {
  return Kind::kAutoContrast;
}
Kind KindOf(const Invert&) {
  return Kind::kInvert;
}
Kind KindOf(const AdjustSharpness&) {
  return Kind::kAdjustSharpness;
}
Kind KindOf(const RandomErasing&) {
  return Kind::kRandomErasing;
}

Kind KindOf(const RandAugment&) {
  return Kind::kRandAugment;
}
Kind KindOf(const TrivialAugmentWide&) {
  return Kind::kTrivialAugmentWide;
}

template <class T>
concept PixelStep = requires(const T& op) {
  KindOf(op);
};

void CheckNumbers(const ColorJitter& op) {
  const auto factor = [](double x) { return x >= 0 && x <= 1e6; };
  if (!factor(op.brightness) || !factor(op.contrast) || !factor(op.saturation) ||
      !(op.hue >= 0 && op.hue <= 0.5)) {
    RefuseTransform(
        "ColorJitter needs brightness, contrast and saturation from 0 on, and hue 0 to 0.5");
  }
}
void CheckNumbers(const GaussianBlur& op) {
  if (op.kernel % 2 == 0 || op.kernel < 3 || op.kernel > kMostWeights) {
    RefuseTransform("GaussianBlur needs an odd kernel of 3 to 255 pixels");
  }
  if (!(op.min_sigma > 0 && op.min_sigma <= op.max_sigma && op.max_sigma <= 1000)) {
    RefuseTransform("GaussianBlur needs 0 < min_sigma <= max_sigma <= 1000");
  }
}
void CheckNumbers(const Solarize& op) {
  if (op.threshold > 256) RefuseTransform("Solarize needs a threshold of 0 to 256");
}
void CheckNumbers(const Posterize& op) {
  if (op.bits < 1 || op.bits > 8) RefuseTransform("Posterize keeps 1 to 8 bits");
}
void CheckNumbers(const AdjustSharpness& op) {
  if (!(op.factor >= 0 && op.factor <= 1e6))
    RefuseTransform("AdjustSharpness needs a factor from 0 on");
}
void CheckNumbers(const RandomErasing& op) {
  if (!(op.min_scale > 0 && op.min_scale <= op.max_scale && op.max_scale <= 1)) {
    RefuseTransform("RandomErasing needs 0 < min_scale <= max_scale <= 1");
  }
  if (!(op.min_ratio > 1.0 / 256 && op.min_ratio <= op.max_ratio && op.max_ratio < 256)) {
    RefuseTransform("RandomErasing needs 1/256 < min_ratio <= max_ratio < 256");
  }
}
constexpr unsigned kMostAugments = 16;
void CheckBins(const char* step, unsigned bins) {
  if (bins < 2 || bins > 1000) RefuseTransform(std::string(step) + " needs 2 to 1000 bins");
}
void CheckNumbers(const RandAugment& op) {
  CheckBins("RandAugment", op.bins);
  if (op.magnitude >= op.bins)
    RefuseTransform("RandAugment needs a magnitude that is less than its bins");
  if (op.operations > kMostAugments) RefuseTransform("RandAugment needs at most 16 operations");
}
void CheckNumbers(const TrivialAugmentWide& op) {
  CheckBins("TrivialAugmentWide", op.bins);
}
template <class T>
void CheckNumbers(const T&) {}

// What steps come to, once they are drawn.

PixelOp OpOf(PixelOpKind kind, float factor = 0) {
  PixelOp op;
  op.kind = kind;
  op.factor = factor;
  return op;
}

void DrawOps(const ColorJitter& op, const Pixels&, RandomStream& draws, PixelOps& ops) {
  const auto factor = [&draws](double x) {
    return static_cast<float>(Between(std::max(0.0, 1 - x), 1 + x, draws));
  };
  // All four are drawn, whichever are used, so that one does not depend on the others.
  const float brightness = factor(op.brightness);
  const float contrast = factor(op.contrast);
  const float saturation = factor(op.saturation);
  const auto hue = static_cast<float>(Between(-op.hue, op.hue, draws));
  int order[4] = {0, 1, 2, 3};
  for (std::size_t i = 3; i > 0; --i)
    std::swap(order[i], order[draws.Below(i + 1)]);
  for (const int which : order) {
    if (which == 0 && op.brightness > 0) ops.Add(OpOf(PixelOpKind::kBrightness, brightness));
    if (which == 1 && op.contrast > 0) ops.Add(OpOf(PixelOpKind::kContrast, contrast));
    if (which == 2 && op.saturation > 0) ops.Add(OpOf(PixelOpKind::kSaturation, saturation));
    if (which == 3 && op.hue > 0) ops.Add(OpOf(PixelOpKind::kHue, hue));
  }
}
void DrawOps(const RandomGrayscale&, const Pixels&, RandomStream&, PixelOps& ops) {
  ops.Add(OpOf(PixelOpKind::kGrey));
}
void DrawOps(const Solarize& op, const Pixels&, RandomStream&, PixelOps& ops) {
  PixelOp solarize = OpOf(PixelOpKind::kSolarize);
  solarize.number = op.threshold;
  ops.Add(solarize);
}
void DrawOps(const Posterize& op, const Pixels&, RandomStream&, PixelOps& ops) {
  PixelOp posterize = OpOf(PixelOpKind::kPosterize);
  posterize.number = op.bits;
  ops.Add(posterize);
}
void DrawOps(const Invert&, const Pixels&, RandomStream&, PixelOps& ops) {
  ops.Add(OpOf(PixelOpKind::kInvert));
}
void DrawOps(const Equalize&, const Pixels&, RandomStream&, PixelOps& ops) {
  ops.Add(OpOf(PixelOpKind::kEqualize));
}
void DrawOps(const AutoContrast&, const Pixels&, RandomStream&, PixelOps& ops) {
  ops.Add(OpOf(PixelOpKind::kStretch));
}
void DrawOps(const AdjustSharpness& op, const Pixels&, RandomStream&, PixelOps& ops) {
  ops.Add(OpOf(PixelOpKind::kSharpen, static_cast<float>(op.factor)));
}

// Of which words are kept.
std::uint32_t TapsUpToMiddle(const GaussianBlur& op) noexcept {
  return op.kernel / 2 + 1;
}
void DrawOps(const GaussianBlur& op, const Pixels&, RandomStream& draws, PixelOps& ops) {
  const double sigma = Between(op.min_sigma, op.max_sigma, draws);
  const auto at = [&](std::uint32_t i) {
    const double x = (double(i) - (op.kernel - 1) / 2.0) / sigma;
    return PortableExp(std::max(-0.5 * x * x, -600.0));
  };
  double sum = 0;
  for (std::uint32_t i = 0; i < op.kernel; ++i)
    sum += at(i);
  const std::uint32_t middle = op.kernel / 2;
  std::uint32_t weights[kMostWeights / 2 + 1] = {};
  std::uint32_t rest = 65536;
  for (std::uint32_t i = 0; i <= middle; ++i) {
    weights[i] = static_cast<std::uint32_t>(at(i) / sum * 65536 + 0.5);
    rest -= i < middle ? 2 * weights[i] : weights[i];
  }
  weights[middle] += rest;  // modulo 2^32: it may be a little less
  PixelOp blur = OpOf(PixelOpKind::kBlur);
  blur.number = op.kernel;
  ops.Add(blur);
  ops.AddWords(weights, TapsUpToMiddle(op));
}

// Behind the rectangle's own draws come those of its values.
void AddNoise(PixelOp erase, const RandomStream& draws, PixelOps& ops) {
  const RandomStream::Place at = draws.place();
  erase.kind = PixelOpKind::kNoise;
  erase.number = at.word;
  ops.Add(erase);
  const std::uint32_t words[kNoiseWords] = {static_cast<std::uint32_t>(at.key),
                                            static_cast<std::uint32_t>(at.key >> 32),
                                            at.counter[0],
                                            at.counter[1],
                                            at.counter[2],
                                            at.counter[3]};
  ops.AddWords(words, kNoiseWords);
}
// None in ten tries: nothing.
void DrawOps(const RandomErasing& op, const Pixels& shape, RandomStream& draws, PixelOps& ops) {
  const double area = double(shape.width) * shape.height;
  const double log_min = PortableLog(op.min_ratio);
  const double log_max = PortableLog(op.max_ratio);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * Between(op.min_scale, op.max_scale, draws);
    const double ratio = PortableExp(Between(log_min, log_max, draws));
    const auto height = static_cast<std::uint64_t>(std::sqrt(target * ratio) + 0.5);
    const auto width = static_cast<std::uint64_t>(std::sqrt(target / ratio) + 0.5);
    if (height >= shape.height || width >= shape.width) continue;
    PixelOp erase = OpOf(PixelOpKind::kErase);
    erase.top = static_cast<std::uint16_t>(draws.Below(shape.height - height + 1));
    erase.left = static_cast<std::uint16_t>(draws.Below(shape.width - width + 1));
    erase.height = static_cast<std::uint16_t>(height);
    erase.width = static_cast<std::uint16_t>(width);
    if (op.noise) return AddNoise(erase, draws, ops);
    std::copy(op.value.begin(), op.value.end(), erase.value);
    ops.Add(erase);
    return;
  }
}

AugmentKind DrawKindOf(RandomStream& draws) {
  return static_cast<AugmentKind>(draws.Below(kAugmentKinds));
}
// The sign is always drawn, so that what follows does not depend on the kind.
double WithSign(AugmentKind kind, double magnitude, RandomStream& draws) {
  const bool negative = draws.Below(2) == 1;
  return negative && AugmentHasSign(kind) ? -magnitude : magnitude;
}
void DrawOps(const RandAugment& op, const Pixels& shape, RandomStream& draws, PixelOps& ops) {
  for (unsigned i = 0; i < op.operations; ++i) {
    const AugmentKind kind = DrawKindOf(draws);
    const double magnitude =
        AugmentMagnitude(kind, false, op.magnitude, op.bins, shape.width, shape.height);
    AddAugment(kind, WithSign(kind, magnitude, draws), op.bilinear, op.fill, shape, ops);
  }
}
void DrawOps(const TrivialAugmentWide& op, const Pixels& shape, RandomStream& draws,
             PixelOps& ops) {
  const AugmentKind kind = DrawKindOf(draws);
  const auto bin = static_cast<std::uint32_t>(draws.Below(op.bins));
  const double magnitude = AugmentMagnitude(kind, true, bin, op.bins, shape.width, shape.height);
  AddAugment(kind, WithSign(kind, magnitude, draws), op.bilinear, op.fill, shape, ops);
}

std::size_t MostOpsOf(const ColorJitter&) {
  return 4;
}
std::size_t MostOpsOf(const GaussianBlur& op) {
  return OpsWithWords(TapsUpToMiddle(op));
}
std::size_t MostOpsOf(const RandomErasing& op) {
  return op.noise ? OpsWithWords(kNoiseWords) : 1;
}
std::size_t MostOpsOf(const RandAugment& op) {
  return op.operations * kMostAugmentOps;
}
std::size_t MostOpsOf(const TrivialAugmentWide&) {
  return kMostAugmentOps;
}
template <PixelStep T>
std::size_t MostOpsOf(const T&) {
  return 1;
}
static_assert(kMostAugments * kMostAugmentOps <= PixelOps::kMost);
static_assert(OpsWithWords(kMostWeights / 2 + 1) <= PixelOps::kMost);

DeviceNeed NeedOfStep(const ColorJitter& op) {
  return {op.contrast > 0, 0};
}
DeviceNeed NeedOfStep(const Equalize&) {
  return {true, 0};
}
DeviceNeed NeedOfStep(const AutoContrast&) {
  return {true, 0};
}
DeviceNeed NeedOfStep(const AdjustSharpness&) {
  return {true, 1};
}
DeviceNeed NeedOfStep(const GaussianBlur&) {
  return {true, 2};  // sums of two bytes
}
DeviceNeed NeedOfStep(const RandAugment& op) {
  return {op.operations > 0, op.operations > 0 ? std::size_t{1} : 0};
}
DeviceNeed NeedOfStep(const TrivialAugmentWide&) {
  return {true, 1};
}
template <class T>
DeviceNeed NeedOfStep(const T&) {
  return {};
}

}  // namespace

bool MayMovePixels(const Transform& step) noexcept {
  return std::holds_alternative<RandAugment>(step) ||
         std::holds_alternative<TrivialAugmentWide>(step);
}

bool ChangesPixels(const Transform& step) noexcept {
  return std::visit([]<class T>(const T&) { return PixelStep<T>; }, step);
}

std::uint8_t DrawKind(const Transform& step) noexcept {
  return std::visit(
      []<class T>(const T& op) {
        if constexpr (PixelStep<T>) {
          return static_cast<std::uint8_t>(KindOf(op));
        } else {
          return std::uint8_t{0};
        }
      },
      step);
}

void CheckStep(const Transform& step) {
  std::visit(
      [&step]<class T>(const T& op) {
        if constexpr (PixelStep<T>) {
          CheckNumbers(op);
          CheckProbability(StepName(step), op.probability);
        }
      },
      step);
}

void CheckStepFits(const Transform& step, std::uint32_t width, std::uint32_t height) {
  const auto* const blur = std::get_if<GaussianBlur>(&step);
  if (blur != nullptr && blur->kernel / 2 >= std::min(width, height)) {
    RefuseTransform("GaussianBlur's kernel of " + std::to_string(blur->kernel) +
                    " pixels is too large for images of " + std::to_string(width) + "x" +
                    std::to_string(height));
  }
}

std::size_t MostOps(const Transform& step) noexcept {
  return std::visit(
      []<class T>(const T& op) -> std::size_t {
        if constexpr (PixelStep<T>) return MostOpsOf(op);
        return 0;
      },
      step);
}

DeviceNeed NeedOf(const Transform& step) noexcept {
  return std::visit([](const auto& op) { return NeedOfStep(op); }, step);
}

void DrawStep(const Transform& step, const Pixels& shape, RandomStream& draws, PixelOps& ops) {
  std::visit(
      [&]<class T>(const T& op) {
        if constexpr (PixelStep<T>) {
          if (draws.Uniform() < op.probability) DrawOps(op, shape, draws, ops);
        }
      },
      step);
}

void RunStep(const Transform& step, const Pixels& pixels, RandomStream& draws,
             StepScratch& scratch) {
  PixelOps ops;
  DrawStep(step, pixels, draws, ops);
  RunPixelOps(ops.at, ops.count, pixels, scratch);
}

}  // namespace sluice
