#pragma once

#include "reader/transform/pixel_step.h"

namespace sluice {

template <>
struct StepOf<Equalize> : PixelStep {
  static constexpr const char* kName = "Equalize";
  static constexpr const char* kText = "equalize[:probability]";
  static constexpr std::uint8_t kDraws = 6;
  static constexpr bool kMovesPixels = false;
  static void List(Equalize& op, ParameterList& list) { list.Chance(op.probability); }
  static DeviceNeed Need(const Equalize&) { return {true, 0}; }

  static void Draw(const Equalize&, const Pixels&, RandomStream&, PixelOps& ops) {
    ops.Add(OpOf(PixelOpKind::kEqualize));
  }
};

}  // namespace sluice
