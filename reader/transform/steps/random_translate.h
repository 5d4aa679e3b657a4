#pragma once

#include "format/disk/limits.h"
#include "reader/transform/framing.h"

namespace sluice {

template <>
struct StepOf<RandomTranslate> : GeometricStep {
  static constexpr const char* kName = "RandomTranslate";
  static constexpr const char* kText = "translate:padding";
  static constexpr std::uint16_t kDraws = 6;
  static void List(RandomTranslate& op, ParameterList& list) {
    list.Whole("padding", op.padding, 0, kMaxImageSide);
    list.Bordering(op.border);
    list.Colour("fill", op.fill);
  }
  static bool MayPad(const RandomTranslate& op, const std::optional<PictureExtent>&) {
    return op.padding > 0;
  }

  static void Take(const RandomTranslate& op, Framing& framing) {
    RandomStream draws = framing.Draws(op);
    const auto offset = [&](std::uint32_t grid) {
      // A reflection must not reach beyond the picture.
      const std::uint32_t most =
          op.border == Border::kReflect ? std::min(op.padding, (grid - 1) / 2) : op.padding;
      return static_cast<std::int64_t>(draws.Below(2 * std::uint64_t{most} + 1)) - most;
    };
    const std::uint32_t width = framing.width();
    const std::uint32_t height = framing.height();
    const std::int64_t left = offset(width);
    const std::int64_t top = offset(height);
    framing.Crop(left, top, width, height);
    framing.SetBorder(op.border, op.fill);
  }
};

}  // namespace sluice
