#pragma once

#include "format/disk/limits.h"
#include "reader/transform/framing.h"

namespace sluice {

template <>
struct StepOf<ResizeShortSide> : GeometricStep {
  static constexpr const char* kName = "ResizeShortSide";
  static constexpr const char* kText = "short:side";
  static constexpr bool kResizes = true;
  static void List(ResizeShortSide& op, ParameterList& list) {
    list.Whole("side", op.side, 1, kMaxImageSide);
    list.Filtering(op.filter);
  }

  static void Take(const ResizeShortSide& op, Framing& framing) {
    const std::uint64_t width = framing.width();
    const std::uint64_t height = framing.height();
    const auto longer = [&op](std::uint64_t of, std::uint64_t by) {
      return static_cast<std::uint32_t>(
          std::clamp<std::uint64_t>(op.side * of / by, 1, kMaxImageSide));
    };
    framing.ResizeTo(width <= height ? op.side : longer(width, height),
                     width <= height ? longer(height, width) : op.side, op.filter);
  }
};

}  // namespace sluice
