#pragma once

#include "reader/transform/pixel_step.h"

namespace sluice {

template <>
struct StepOf<RandomGrayscale> : PixelStep {
  static constexpr const char* kName = "RandomGrayscale";
  static constexpr const char* kText = "gray[:probability]";
  static constexpr std::uint8_t kDraws = 2;
  static constexpr bool kMovesPixels = false;
  static void List(RandomGrayscale& op, ParameterList& list) { list.Chance(op.probability); }

  static void Draw(const RandomGrayscale&, const Pixels&, RandomStream&, PixelOps& ops) {
    ops.Add(OpOf(PixelOpKind::kGrey));
  }
};

}  // namespace sluice
