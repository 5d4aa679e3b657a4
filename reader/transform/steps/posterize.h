#pragma once

#include "reader/transform/pixel_step.h"

namespace sluice {

template <>
struct StepOf<Posterize> : PixelStep {
  static constexpr const char* kName = "Posterize";
  static constexpr const char* kText = "posterize:bits";
  static constexpr std::uint8_t kDraws = 5;
  static constexpr bool kMovesPixels = false;
  static void List(Posterize& op, ParameterList& list) {
    list.Whole("bits", op.bits, 1, 8);
    list.Chance(op.probability);
  }

  static void Draw(const Posterize& op, const Pixels&, RandomStream&, PixelOps& ops) {
    ops.Add(OpOf(PixelOpKind::kPosterize, 0, op.bits));
  }
};

}  // namespace sluice
