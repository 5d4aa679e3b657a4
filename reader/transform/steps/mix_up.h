#pragma once

#include "reader/transform/batch_mix.h"
#include "reader/transform/step.h"

namespace sluice {

template <>
struct StepOf<MixUp> : BatchStep {
  static constexpr const char* kName = "MixUp";
  static constexpr const char* kText = "mixup[:alpha[/probability]]";
  static constexpr std::uint8_t kDraws = 1;
  static void List(MixUp& op, ParameterList& list) {
    list.Number("alpha", op.alpha, Above(0, 100));
    list.Chance(op.probability);
  }

  static MixStep Mix(const MixUp& op) { return {false, op.alpha, op.probability, kDraws}; }
};

}  // namespace sluice
