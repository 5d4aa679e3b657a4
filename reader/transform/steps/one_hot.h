#pragma once

#include "reader/transform/step.h"

namespace sluice {

// BatchProgram is its program, and checks what it needs of the dataset.
template <>
struct StepOf<OneHot> : BatchStep {
  static constexpr const char* kName = "OneHot";
  static constexpr const char* kText = "onehot[:smoothing]";
  static constexpr const char* kRuns = "for each sample, beside its label";
  static void List(OneHot& op, ParameterList& list) {
    list.Whole("classes", op.classes, 0, 65536, Told::kIfUnusual);
    list.Number("smoothing", op.smoothing, AtLeast(0, 1), Told::kNamed);
    list.Name("of", op.label);
    list.Name("as", op.field);
  }
};

}  // namespace sluice
