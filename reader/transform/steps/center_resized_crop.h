#pragma once

#include "reader/transform/framing.h"

namespace sluice {

template <>
struct StepOf<CenterResizedCrop> : GeometricStep {
  static constexpr const char* kName = "CenterResizedCrop";
  static constexpr const char* kText = "crc:size";
  static constexpr bool kResizes = true;
  static void List(CenterResizedCrop& op, ParameterList& list) {
    list.Size(op.width, op.height);
    list.Number("ratio", op.ratio, Above(0, 1));
    list.Filtering(op.filter);
  }

  static void Take(const CenterResizedCrop& op, Framing& framing) {
    const std::uint32_t width = framing.width();
    const std::uint32_t height = framing.height();
    // The size of the largest rectangle of the target's aspect ratio; for squares, exactly the
    // shorter side.
    const double unit = std::min(double(width) / op.width, double(height) / op.height);
    const bool square = op.width == op.height;
    const double shorter = std::min(width, height);
    const auto side = [&](std::uint32_t of, std::uint32_t most) {
      const double whole = square ? shorter : unit * of;
      return std::clamp(static_cast<std::uint32_t>(op.ratio * whole), 1U, most);
    };
    const std::uint32_t crop_width = side(op.width, width);
    const std::uint32_t crop_height = side(op.height, height);
    framing.Cut((width - crop_width) / 2, (height - crop_height) / 2, crop_width, crop_height);
    framing.ResizeTo(op.width, op.height, op.filter);
  }
};

}  // namespace sluice
