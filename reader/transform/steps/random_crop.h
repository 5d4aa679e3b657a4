#pragma once

#include "format/disk/limits.h"
#include "reader/transform/framing.h"

namespace sluice {

template <>
struct StepOf<RandomCrop> : GeometricStep {
  static constexpr const char* kName = "RandomCrop";
  static constexpr const char* kText = "crop:size[+padding]";
  static constexpr std::uint16_t kDraws = 2;
  static void List(RandomCrop& op, ParameterList& list) {
    list.Size(op.width, op.height);
    list.Whole("padding", op.padding, 0, kMaxImageSide);
    if (op.padding > 0) list.Bordering(op.border);
    list.Colour("fill", op.fill);
  }
  static const char* Wrong(const RandomCrop& op) {
    const bool far = 2 * op.padding >= std::min(op.width, op.height);
    return op.border == Border::kReflect && far
               ? "can reflect a border of less than half of its own side"
               : nullptr;
  }
  static bool MayPad(const RandomCrop& op, const std::optional<PictureExtent>& from) {
    return op.padding > 0 || !Holds(from, op.width, op.height);
  }

  static void Take(const RandomCrop& op, Framing& framing) {
    RandomStream draws = framing.Draws(op);
    const auto offset = [&](std::uint32_t grid, std::uint32_t crop) {
      const std::int64_t room = std::int64_t{grid} + 2 * std::int64_t{op.padding} - crop;
      const auto drawn =
          static_cast<std::int64_t>(draws.Below(static_cast<std::uint64_t>(std::abs(room)) + 1));
      return (room < 0 ? -drawn : drawn) - std::int64_t{op.padding};
    };
    const std::int64_t left = offset(framing.width(), op.width);
    const std::int64_t top = offset(framing.height(), op.height);
    framing.Crop(left, top, op.width, op.height);
    framing.SetBorder(op.border, op.fill);
  }
};

}  // namespace sluice
