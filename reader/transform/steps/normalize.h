#pragma once

#include "reader/transform/step.h"

namespace sluice {

// NumberTable (number_table.h) is its program, and checks it.
template <>
struct StepOf<Normalize> : AnyStep {
  static constexpr const char* kName = "Normalize";
  static constexpr const char* kText = "normalize";
  static constexpr StepKind kKind = StepKind::kNumbers;
  static constexpr const char* kRuns = "while the row is written";
  static void List(Normalize& op, ParameterList& list) {
    list.Channels(op.mean);
    list.Channels(op.deviation);
    list.Choice(op.type, {{"f32", "float32"}, {"f16", "float16"}, {"bf16", "bfloat16"}});
  }
  // The meaning of "normalize" as text: ImageNet's mean and deviation, the usual ones.
  static Normalize AsWritten() {
    return Normalize({0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F});
  }
};

}  // namespace sluice
