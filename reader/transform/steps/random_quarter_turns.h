#pragma once

#include "reader/transform/framing.h"

namespace sluice {

template <>
struct StepOf<RandomQuarterTurns> : GeometricStep {
  static constexpr const char* kName = "RandomQuarterTurns";
  static constexpr const char* kText = "turns[:probability]";
  static constexpr std::uint16_t kDraws = 5;
  static constexpr bool kTurns = true;
  static constexpr bool kSwapsSides = true;
  static constexpr const char* kRuns =
      "fused with decoding; a quarter turn swaps rows and columns in a second pass";
  static void List(RandomQuarterTurns& op, ParameterList& list) { list.Chance(op.probability); }

  static void Take(const RandomQuarterTurns& op, Framing& framing) {
    RandomStream draws = framing.Draws(op);
    if (!(draws.Uniform() < op.probability)) return;
    const std::uint64_t quarters = 1 + draws.Below(3);  // counterclockwise
    for (std::uint64_t q = 0; q < quarters; ++q) {
      framing.Transpose();
      framing.Mirror(false);
    }
  }
};

}  // namespace sluice
