#pragma once

#include "reader/transform/pixel_step.h"

namespace sluice {

template <>
struct StepOf<Solarize> : PixelStep {
  static constexpr const char* kName = "Solarize";
  static constexpr const char* kText = "solarize[:threshold]";
  static constexpr std::uint8_t kDraws = 4;
  static constexpr bool kMovesPixels = false;
  static void List(Solarize& op, ParameterList& list) {
    list.Whole("threshold", op.threshold, 0, 256);
    list.Chance(op.probability);
  }

  static void Draw(const Solarize& op, const Pixels&, RandomStream&, PixelOps& ops) {
    ops.Add(OpOf(PixelOpKind::kSolarize, 0, op.threshold));
  }
};

}  // namespace sluice
