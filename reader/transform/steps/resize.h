#pragma once

#include "reader/transform/framing.h"

namespace sluice {

template <>
struct StepOf<Resize> : GeometricStep {
  static constexpr const char* kName = "Resize";
  static constexpr const char* kText = "resize:size";
  static constexpr bool kResizes = true;
  static void List(Resize& op, ParameterList& list) {
    list.Size(op.width, op.height);
    list.Filtering(op.filter);
  }

  static void Take(const Resize& op, Framing& framing) {
    framing.ResizeTo(op.width, op.height, op.filter);
  }
};

}  // namespace sluice
