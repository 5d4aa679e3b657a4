#pragma once

#include "reader/transform/step.h"

namespace sluice {

// MixBatch (batch_mix.h) is its program.
template <>
struct StepOf<MixUp> : BatchStep {
  static constexpr const char* kName = "MixUp";
  static constexpr const char* kText = "mixup[:alpha[/probability]]";
  static constexpr std::uint8_t kDraws = 1;
  static void List(MixUp& op, ParameterList& list) {
    list.Number("alpha", op.alpha, Above(0, 100));
    list.Chance(op.probability);
  }
};

}  // namespace sluice
