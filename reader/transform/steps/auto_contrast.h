#pragma once

#include "reader/transform/pixel_step.h"

namespace sluice {

template <>
struct StepOf<AutoContrast> : PixelStep {
  static constexpr const char* kName = "AutoContrast";
  static constexpr const char* kText = "autocontrast[:probability]";
  static constexpr std::uint8_t kDraws = 7;
  static constexpr bool kMovesPixels = false;
  static void List(AutoContrast& op, ParameterList& list) { list.Chance(op.probability); }
  static DeviceNeed Need(const AutoContrast&) { return {true, 0}; }

  static void Draw(const AutoContrast&, const Pixels&, RandomStream&, PixelOps& ops) {
    ops.Add(OpOf(PixelOpKind::kStretch));
  }
};

}  // namespace sluice
