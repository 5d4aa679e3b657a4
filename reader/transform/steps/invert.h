#pragma once

#include "reader/transform/pixel_step.h"

namespace sluice {

template <>
struct StepOf<Invert> : PixelStep {
  static constexpr const char* kName = "Invert";
  static constexpr const char* kText = "invert[:probability]";
  static constexpr std::uint8_t kDraws = 8;
  static constexpr bool kMovesPixels = false;
  static void List(Invert& op, ParameterList& list) { list.Chance(op.probability); }

  static void Draw(const Invert&, const Pixels&, RandomStream&, PixelOps& ops) {
    ops.Add(OpOf(PixelOpKind::kInvert));
  }
};

}  // namespace sluice
