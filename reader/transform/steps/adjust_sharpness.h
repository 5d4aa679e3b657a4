#pragma once

#include "reader/transform/pixel_step.h"

namespace sluice {

template <>
struct StepOf<AdjustSharpness> : PixelStep {
  static constexpr const char* kName = "AdjustSharpness";
  static constexpr const char* kText = "sharpness:factor";
  static constexpr std::uint8_t kDraws = 9;
  static constexpr bool kMovesPixels = false;
  static void List(AdjustSharpness& op, ParameterList& list) {
    list.Number("factor", op.factor, AtLeast(0, 1e6));
    list.Chance(op.probability);
  }
  static DeviceNeed Need(const AdjustSharpness&) { return {true, 1}; }

  static void Draw(const AdjustSharpness& op, const Pixels&, RandomStream&, PixelOps& ops) {
    ops.Add(OpOf(PixelOpKind::kSharpen, static_cast<float>(op.factor)));
  }
};

}  // namespace sluice
