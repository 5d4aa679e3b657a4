#pragma once

#include "reader/transform/framing.h"

namespace sluice {

template <>
struct StepOf<CenterCrop> : GeometricStep {
  static constexpr const char* kName = "CenterCrop";
  static constexpr const char* kText = "center:size";
  static void List(CenterCrop& op, ParameterList& list) { list.Size(op.width, op.height); }
  static bool MayPad(const CenterCrop& op, const std::optional<PictureExtent>& from) {
    return !Holds(from, op.width, op.height);
  }

  static void Take(const CenterCrop& op, Framing& framing) {
    framing.Crop(Offset(framing.width(), op.width), Offset(framing.height(), op.height), op.width,
                 op.height);
  }

 private:
  // As in torchvision: round((grid - crop) / 2), halves to even. If the grid is smaller, the
  // smaller half of the padding comes first.
  static std::int64_t Offset(std::uint32_t grid, std::uint32_t crop) {
    const std::int64_t room = std::int64_t{grid} - crop;
    if (room < 0) return -((-room) / 2);
    const std::int64_t half = room / 2;
    return room % 2 == 0 ? half : half + half % 2;
  }
};

}  // namespace sluice
