// The operations of RandAugment and TrivialAugmentWide, and their magnitudes.
#pragma once

#include <array>
#include <cstdint>

#include "format/pixels/steps/steps.h"
#include "format/random.h"
#include "reader/transform/pixel_op.h"
#include "reader/transform/portable_math.h"
#include "reader/transform/step.h"

namespace sluice {

// In the order of torchvision's tables. Draws are indices into this list: never change its order.
enum class AugmentKind : std::uint8_t {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
};
inline constexpr std::size_t kAugmentKinds = 14;

// The magnitude of an operation at `bin` of `bins` (2 or more), without its sign: a shear's
// tangent, pixels, degrees, a factor's distance from 1, bits kept, or a threshold; 0 if it has
// none. RandAugment's translations are relative to the picture's size, TrivialAugmentWide's are
// not.
double AugmentMagnitude(AugmentKind kind, bool wide, std::uint32_t bin, std::uint32_t bins,
                        std::uint32_t width, std::uint32_t height) noexcept;
// Whether the magnitude gets a random sign.
bool AugmentHasSign(AugmentKind kind) noexcept;
// Draws an operation.
AugmentKind DrawAugment(RandomStream& draws) noexcept;
// Draws a sign, always, and applies it if AugmentHasSign().
double WithDrawnSign(AugmentKind kind, double magnitude, RandomStream& draws) noexcept;

// Adds the pixel operations of `kind` for a picture of that shape (the pixels are not read): at
// most kMaxAugmentOps. Geometric operations fill the pixels they leave empty with the colour
// `fill`.
inline constexpr std::size_t kMaxAugmentOps = OpsWithWords(kMapWords);
void AddAugment(AugmentKind kind, double magnitude, bool bilinear,
                const std::array<std::uint8_t, 3>& fill, const Pixels& shape, PixelOps& ops);

template <>
struct StepOf<RandomErasing> : PixelStep {
  static constexpr const char* kName = "RandomErasing";
  static constexpr const char* kText = "erase[:probability[/scale/scale]]";
  static constexpr std::uint8_t kDraws = 10;
  static constexpr bool kMovesPixels = false;
  static void List(RandomErasing& op, ParameterList& list) {
    list.Chance(op.probability);
    list.Range("scale", op.min_scale, op.max_scale, Above(0, 1));
    list.Range("ratio", op.min_ratio, op.max_ratio, Inside(1.0 / 256, 256), Shown::kNamedIfUnusual);
    list.Flag("noise", op.noise);
    if (!op.noise) list.Colour("value", op.value);
  }
  static bool FitsWide(const RandomErasing&) { return true; }
  static std::size_t MaxOps(const RandomErasing& op) {
    return op.noise ? OpsWithWords(kNoiseWords) : 1;
  }

  // Erases nothing if ten tries give no rectangle.
  static void Draw(const RandomErasing& op, const Pixels& shape, RandomStream& draws,
                   PixelOps& ops) {
    const double area = double(shape.width) * shape.height;
    const double log_min = PortableLog(op.min_ratio);
    const double log_max = PortableLog(op.max_ratio);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double target = area * Between(op.min_scale, op.max_scale, draws);
      const double ratio = PortableExp(Between(log_min, log_max, draws));
      const auto height = static_cast<std::uint64_t>(std::sqrt(target * ratio) + 0.5);
      const auto width = static_cast<std::uint64_t>(std::sqrt(target / ratio) + 0.5);
      // As in torchvision, a rectangle as wide or as high as the picture is not taken.
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

 private:
  // Stores the place that the random stream has reached: the draws of the noise follow those of the
  // rectangle.
  static void AddNoise(PixelOp erase, const RandomStream& draws, PixelOps& ops) {
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
};

template <>
struct StepOf<RandAugment> : PixelStep {
  static constexpr const char* kName = "RandAugment";
  static constexpr const char* kText = "randaug[:operations/magnitude[/bins]]";
  static constexpr std::uint8_t kDraws = 11;
  static void List(RandAugment& op, ParameterList& list) {
    list.Whole("operations", op.operations, 0, kMaxAugments);
    list.Whole("magnitude", op.magnitude, 0, 999);
    list.Whole("bins", op.bins, 2, 1000);
    list.Flag("bilinear", op.bilinear);
    list.Colour("fill", op.fill);
    list.Chance(op.probability, Shown::kNamedIfUnusual);
  }
  static const char* Wrong(const RandAugment& op) {
    return op.magnitude >= op.bins ? "needs a magnitude that is less than its bins" : nullptr;
  }
  static constexpr bool kMovesPixels = true;
  static std::size_t MaxOps(const RandAugment& op) { return op.operations * kMaxAugmentOps; }
  static DeviceNeed Need(const RandAugment& op) {
    return {op.operations > 0, op.operations > 0 ? std::size_t{1} : 0};
  }

  static void Draw(const RandAugment& op, const Pixels& shape, RandomStream& draws, PixelOps& ops) {
    for (unsigned i = 0; i < op.operations; ++i) {
      const AugmentKind kind = DrawAugment(draws);
      const double magnitude =
          AugmentMagnitude(kind, false, op.magnitude, op.bins, shape.width, shape.height);
      AddAugment(kind, WithDrawnSign(kind, magnitude, draws), op.bilinear, op.fill, shape, ops);
    }
  }

 private:
  static constexpr unsigned kMaxAugments = 16;
  static_assert(kMaxAugments * kMaxAugmentOps <= PixelOps::kMost);
};

template <>
struct StepOf<TrivialAugmentWide> : PixelStep {
  static constexpr const char* kName = "TrivialAugmentWide";
  static constexpr const char* kText = "trivialaug[:probability]";
  static constexpr std::uint8_t kDraws = 12;
  static void List(TrivialAugmentWide& op, ParameterList& list) {
    list.Whole("bins", op.bins, 2, 1000);
    list.Flag("bilinear", op.bilinear);
    list.Colour("fill", op.fill);
    list.Chance(op.probability, Shown::kNamedIfUnusual);
  }
  static constexpr bool kMovesPixels = true;
  static std::size_t MaxOps(const TrivialAugmentWide&) { return kMaxAugmentOps; }
  static DeviceNeed Need(const TrivialAugmentWide&) { return {true, 1}; }

  static void Draw(const TrivialAugmentWide& op, const Pixels& shape, RandomStream& draws,
                   PixelOps& ops) {
    const AugmentKind kind = DrawAugment(draws);
    const auto bin = static_cast<std::uint32_t>(draws.Below(op.bins));
    const double magnitude = AugmentMagnitude(kind, true, bin, op.bins, shape.width, shape.height);
    AddAugment(kind, WithDrawnSign(kind, magnitude, draws), op.bilinear, op.fill, shape, ops);
  }
};

}  // namespace sluice
