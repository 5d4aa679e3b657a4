#pragma once

#include "reader/transform/framing.h"

namespace sluice {

template <>
struct StepOf<HorizontalFlip> : GeometricStep {
  static constexpr const char* kName = "HorizontalFlip";
  static constexpr const char* kText = "flip[:probability]";
  static constexpr std::uint16_t kDraws = 3;
  static constexpr bool kTurns = true;
  static void List(HorizontalFlip& op, ParameterList& list) { list.Chance(op.probability); }

  static void Take(const HorizontalFlip& op, Framing& framing) {
    if (framing.Draws(op).Uniform() < op.probability) framing.Mirror(true);
  }
};

}  // namespace sluice
