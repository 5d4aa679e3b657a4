#pragma once

#include "reader/transform/batch_mix.h"
#include "reader/transform/step.h"

namespace sluice {

template <>
struct StepOf<CutMix> : BatchStep {
  static constexpr const char* kName = "CutMix";
  static constexpr const char* kText = "cutmix[:alpha[/probability]]";
  static constexpr std::uint8_t kDraws = 2;
  static void List(CutMix& op, ParameterList& list) {
    list.Number("alpha", op.alpha, Above(0, 100));
    list.Chance(op.probability);
  }

  static MixStep Mix(const CutMix& op) { return {true, op.alpha, op.probability, kDraws}; }
};

}  // namespace sluice
