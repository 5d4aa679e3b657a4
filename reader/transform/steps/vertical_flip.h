#pragma once

#include "reader/transform/framing.h"

namespace sluice {

template <>
struct StepOf<VerticalFlip> : GeometricStep {
  static constexpr const char* kName = "VerticalFlip";
  static constexpr const char* kText = "vflip[:probability]";
  static constexpr std::uint16_t kDraws = 4;
  static constexpr bool kTurns = true;
  static void List(VerticalFlip& op, ParameterList& list) { list.Chance(op.probability); }

  static void Take(const VerticalFlip& op, Framing& framing) {
    if (framing.Draws(op).Uniform() < op.probability) framing.Mirror(false);
  }
};

}  // namespace sluice
