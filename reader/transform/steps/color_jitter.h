#pragma once

#include "reader/transform/pixel_step.h"

namespace sluice {

template <>
struct StepOf<ColorJitter> : PixelStep {
  static constexpr const char* kName = "ColorJitter";
  static constexpr const char* kText = "jitter:brightness[/contrast[/saturation[/hue]]]";
  static constexpr std::uint8_t kDraws = 1;
  static constexpr bool kMovesPixels = false;
  static void List(ColorJitter& op, ParameterList& list) {
    list.Number("brightness", op.brightness, AtLeast(0, 1e6));
    list.Number("contrast", op.contrast, AtLeast(0, 1e6));
    list.Number("saturation", op.saturation, AtLeast(0, 1e6));
    list.Number("hue", op.hue, AtLeast(0, 0.5));
    list.Chance(op.probability, Told::kNamedIfUnusual);
  }
  static std::size_t MostOps(const ColorJitter&) { return 4; }
  static DeviceNeed Need(const ColorJitter& op) { return {op.contrast > 0, 0}; }

  static void Draw(const ColorJitter& op, const Pixels&, RandomStream& draws, PixelOps& ops) {
    const auto factor = [&draws](double x) {
      return static_cast<float>(Between(std::max(0.0, 1 - x), 1 + x, draws));
    };
    // All four are always drawn, so that none depends on whether the others are used.
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
};

}  // namespace sluice
