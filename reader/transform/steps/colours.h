// Steps that change the values of pixels and leave them where they are. The numbers kDraws are
// fixed forever (step.h).
#pragma once

#include <bit>

#include "reader/transform/portable_math.h"
#include "reader/transform/step.h"

namespace sluice {

template <>
struct StepOf<AdjustSharpness> : PixelStep {
  static constexpr const char* kName = "AdjustSharpness";
  static constexpr const char* kText = "sharpness:factor";
  static constexpr std::uint8_t kDraws = 9;
  static constexpr bool kMovesPixels = false;
  static void List(AdjustSharpness& step, ParameterList& list) {
    list.Number("factor", step.factor, AtLeast(0, 1e6));
    list.Chance(step.probability);
  }
  static DeviceNeed Need(const AdjustSharpness&) { return {.whole = true, .spare_bytes = 1}; }

  static void Draw(const AdjustSharpness& step, const Pixels&, RandomStream&, PixelOps& ops) {
    ops.Add(OpOf(PixelOpKind::kSharpen, static_cast<float>(step.factor)));
  }
};

template <>
struct StepOf<AutoContrast> : PlainStep<PixelOpKind::kStretch> {
  static constexpr const char* kName = "AutoContrast";
  static constexpr const char* kText = "autocontrast[:probability]";
  static constexpr std::uint8_t kDraws = 7;
  static DeviceNeed Need(const AutoContrast&) { return {.whole = true}; }
};

template <>
struct StepOf<ColorJitter> : PixelStep {
  static constexpr const char* kName = "ColorJitter";
  static constexpr const char* kText = "jitter:brightness[/contrast[/saturation[/hue]]]";
  static constexpr std::uint8_t kDraws = 1;
  static constexpr bool kMovesPixels = false;
  static void List(ColorJitter& step, ParameterList& list) {
    list.Number("brightness", step.brightness, AtLeast(0, 1e6));
    list.Number("contrast", step.contrast, AtLeast(0, 1e6));
    list.Number("saturation", step.saturation, AtLeast(0, 1e6));
    list.Number("hue", step.hue, AtLeast(0, 0.5));
    list.Chance(step.probability, Shown::kNamedIfUnusual);
  }
  static std::size_t MaxOps(const ColorJitter&) { return 4; }
  static bool FitsWide(const ColorJitter& step) { return step.saturation == 0 && step.hue == 0; }
  static DeviceNeed Need(const ColorJitter& step) { return {.whole = step.contrast > 0}; }

  static void Draw(const ColorJitter& step, const Pixels&, RandomStream& draws, PixelOps& ops) {
    const auto factor = [&draws](double x) {
      return static_cast<float>(Between(std::max(0.0, 1 - x), 1 + x, draws));
    };
    // All four are always drawn, so that none depends on whether the others are used.
    const float brightness = factor(step.brightness);
    const float contrast = factor(step.contrast);
    const float saturation = factor(step.saturation);
    const auto hue = static_cast<float>(Between(-step.hue, step.hue, draws));
    int order[4] = {0, 1, 2, 3};
    for (std::size_t i = 3; i > 0; --i)
      // A Fisher-Yates shuffle: the four operations do not commute, and torchvision permutes them,
      // too.
      std::swap(order[i], order[draws.Below(i + 1)]);
    for (const int which : order) {
      if (which == 0 && step.brightness > 0) ops.Add(OpOf(PixelOpKind::kBrightness, brightness));
      if (which == 1 && step.contrast > 0) ops.Add(OpOf(PixelOpKind::kContrast, contrast));
      if (which == 2 && step.saturation > 0) ops.Add(OpOf(PixelOpKind::kSaturation, saturation));
      if (which == 3 && step.hue > 0) ops.Add(OpOf(PixelOpKind::kHue, hue));
    }
  }
};

template <>
struct StepOf<Equalize> : PlainStep<PixelOpKind::kEqualize> {
  static constexpr const char* kName = "Equalize";
  static constexpr const char* kText = "equalize[:probability]";
  static constexpr std::uint8_t kDraws = 6;
  static DeviceNeed Need(const Equalize&) { return {.whole = true}; }
};

template <>
struct StepOf<GaussianBlur> : PixelStep {
  static constexpr const char* kName = "GaussianBlur";
  static constexpr const char* kText = "blur:kernel[/sigma[/sigma]]";
  static constexpr std::uint8_t kDraws = 3;
  static constexpr bool kMovesPixels = false;
  static void List(GaussianBlur& step, ParameterList& list) {
    list.Whole("kernel", step.kernel, 3, kMaxWeights);
    list.Range("sigma", step.min_sigma, step.max_sigma, Above(0, 1000));
    list.Chance(step.probability);
  }
  static const char* Wrong(const GaussianBlur& step) {
    return step.kernel % 2 == 0 ? "needs an odd kernel" : nullptr;
  }
  static void CheckFits(const GaussianBlur& step, std::uint32_t width, std::uint32_t height) {
    if (step.kernel / 2 < std::min(width, height)) return;
    RefuseTransform("GaussianBlur's kernel of " + std::to_string(step.kernel) +
                    " pixels is too large for images of " + std::to_string(width) + "x" +
                    std::to_string(height));
  }
  static bool FitsWide(const GaussianBlur&) { return true; }
  static std::size_t MaxOps(const GaussianBlur& step) { return OpsWithWords(TapsUpToMiddle(step)); }
  static DeviceNeed Need(const GaussianBlur&) {
    return {.whole = true, .spare_bytes = 2};  // two-byte sums
  }

  static void Draw(const GaussianBlur& step, const Pixels&, RandomStream& draws, PixelOps& ops) {
    const double sigma = Between(step.min_sigma, step.max_sigma, draws);
    const auto at = [&](std::uint32_t i) {
      const double x = (double(i) - (step.kernel - 1) / 2.0) / sigma;
      return PortableExp(std::max(-0.5 * x * x, -600.0));  // PortableExp() takes no less than -700
    };
    double sum = 0;
    for (std::uint32_t i = 0; i < step.kernel; ++i)
      sum += at(i);
    const std::uint32_t middle = step.kernel / 2;
    std::uint32_t weights[kMaxWeights / 2 + 1] = {};
    // What rounding leaves of the sum goes to the middle weight, so that a picture of one colour
    // keeps it.
    std::uint32_t rest = 65536;
    for (std::uint32_t i = 0; i <= middle; ++i) {
      weights[i] = static_cast<std::uint32_t>(at(i) / sum * 65536 + 0.5);
      rest -= i < middle ? 2 * weights[i] : weights[i];
    }
    // If the weights sum to more than 65536, `rest` has wrapped around, and this addition does,
    // too.
    weights[middle] += rest;
    PixelOp blur = OpOf(PixelOpKind::kBlur);
    blur.number = step.kernel;
    ops.Add(blur);
    ops.AddWords(weights, TapsUpToMiddle(step));
  }

 private:
  // Only these weights are stored as words; the others mirror them.
  static std::uint32_t TapsUpToMiddle(const GaussianBlur& step) noexcept {
    return step.kernel / 2 + 1;
  }
  static_assert(OpsWithWords(kMaxWeights / 2 + 1) <= PixelOps::kMost);
};

template <>
struct StepOf<Invert> : PlainStep<PixelOpKind::kInvert> {
  static constexpr const char* kName = "Invert";
  static constexpr const char* kText = "invert[:probability]";
  static constexpr std::uint8_t kDraws = 8;
};

template <>
struct StepOf<Posterize> : PixelStep {
  static constexpr const char* kName = "Posterize";
  static constexpr const char* kText = "posterize:bits";
  static constexpr std::uint8_t kDraws = 5;
  static constexpr bool kMovesPixels = false;
  static void List(Posterize& step, ParameterList& list) {
    list.Whole("bits", step.bits, 1, 8);
    list.Chance(step.probability);
  }

  static void Draw(const Posterize& step, const Pixels&, RandomStream&, PixelOps& ops) {
    ops.Add(OpOf(PixelOpKind::kPosterize, 0, step.bits));
  }
};

template <>
struct StepOf<RandomGrayscale> : PlainStep<PixelOpKind::kGrey> {
  static constexpr const char* kName = "RandomGrayscale";
  static constexpr const char* kText = "gray[:probability]";
  static constexpr std::uint8_t kDraws = 2;
};

template <>
struct StepOf<RandomHSV> : PixelStep {
  static constexpr const char* kName = "RandomHSV";
  static constexpr const char* kText = "hsv[:hue[/saturation[/value]]]";
  static constexpr std::uint8_t kDraws = 13;
  static constexpr bool kMovesPixels = false;
  static void List(RandomHSV& step, ParameterList& list) {
    list.Number("hue", step.hue, AtLeast(0, 0.5));
    list.Number("saturation", step.saturation, AtLeast(0, 1));
    list.Number("value", step.value, AtLeast(0, 1));
    list.Chance(step.probability, Shown::kNamedIfUnusual);
  }

  static void Draw(const RandomHSV& step, const Pixels&, RandomStream& draws, PixelOps& ops) {
    const auto turns = static_cast<float>(Between(-step.hue, step.hue, draws));
    const auto bits = [&draws](double x) {
      return std::bit_cast<std::uint32_t>(static_cast<float>(Between(1 - x, 1 + x, draws)));
    };
    PixelOp op = OpOf(PixelOpKind::kHsv, turns, bits(step.saturation));
    const std::uint32_t value = bits(step.value);
    op.left = static_cast<std::uint16_t>(value);
    op.top = static_cast<std::uint16_t>(value >> 16);
    ops.Add(op);
  }
};

template <>
struct StepOf<RandomPhotometricDistort> : PixelStep {
  static constexpr const char* kName = "RandomPhotometricDistort";
  static constexpr const char* kText = "distort[:probability]";
  static constexpr std::uint8_t kDraws = 14;
  static constexpr bool kMovesPixels = false;
  static void List(RandomPhotometricDistort& step, ParameterList& list) {
    list.Range("brightness", step.min_brightness, step.max_brightness, AtLeast(0, 1e6));
    list.Range("contrast", step.min_contrast, step.max_contrast, AtLeast(0, 1e6));
    list.Range("saturation", step.min_saturation, step.max_saturation, AtLeast(0, 1e6));
    list.Range("hue", step.min_hue, step.max_hue, AtLeast(-0.5, 0.5));
    list.Chance(step.probability);
  }
  static std::size_t MaxOps(const RandomPhotometricDistort&) { return 5; }
  static DeviceNeed Need(const RandomPhotometricDistort&) { return {.whole = true}; }
  // The probability is that of each operation.
  static double ChanceOf(const RandomPhotometricDistort&) { return 1; }

  static void Draw(const RandomPhotometricDistort& step, const Pixels&, RandomStream& draws,
                   PixelOps& ops) {
    struct Part {
      bool runs;
      PixelOp op;
    };
    const auto part = [&](PixelOpKind kind, double low, double high) {
      const bool runs = draws.Uniform() < step.probability;
      return Part{runs, OpOf(kind, static_cast<float>(Between(low, high, draws)))};
    };
    const Part brightness =
        part(PixelOpKind::kBrightness, step.min_brightness, step.max_brightness);
    const Part contrast = part(PixelOpKind::kContrast, step.min_contrast, step.max_contrast);
    const Part saturation =
        part(PixelOpKind::kSaturation, step.min_saturation, step.max_saturation);
    const Part hue = part(PixelOpKind::kHue, step.min_hue, step.max_hue);
    const bool contrast_first = draws.Uniform() < 0.5;
    const bool exchanges = draws.Uniform() < step.probability;
    std::uint32_t order[3] = {0, 1, 2};
    for (std::size_t i = 2; i > 0; --i)
      std::swap(order[i], order[draws.Below(i + 1)]);
    const Part exchange{exchanges,
                        OpOf(PixelOpKind::kExchange, 0, order[0] | order[1] << 2 | order[2] << 4)};
    const auto add = [&ops](const Part& one) {
      if (one.runs) ops.Add(one.op);
    };
    add(brightness);
    if (contrast_first) add(contrast);
    add(saturation);
    add(hue);
    if (!contrast_first) add(contrast);
    add(exchange);
  }
};

template <>
struct StepOf<Solarize> : PixelStep {
  static constexpr const char* kName = "Solarize";
  static constexpr const char* kText = "solarize[:threshold]";
  static constexpr std::uint8_t kDraws = 4;
  static constexpr bool kMovesPixels = false;
  static void List(Solarize& step, ParameterList& list) {
    list.Whole("threshold", step.threshold, 0, 256);
    list.Chance(step.probability);
  }

  static void Draw(const Solarize& step, const Pixels&, RandomStream&, PixelOps& ops) {
    ops.Add(OpOf(PixelOpKind::kSolarize, 0, step.threshold));
  }
};

}  // namespace sluice
