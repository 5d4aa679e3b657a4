#pragma once

#include "reader/transform/augment.h"
#include "reader/transform/pixel_step.h"

namespace sluice {

template <>
struct StepOf<TrivialAugmentWide> : PixelStep {
  static constexpr const char* kName = "TrivialAugmentWide";
  static constexpr const char* kText = "trivialaug[:probability]";
  static constexpr std::uint8_t kDraws = 12;
  static void List(TrivialAugmentWide& op, ParameterList& list) {
    list.Whole("bins", op.bins, 2, 1000);
    list.Flag("bilinear", op.bilinear);
    list.Colour("fill", op.fill);
    list.Chance(op.probability, Told::kNamedIfUnusual);
  }
  static constexpr bool kMovesPixels = true;
  static std::size_t MostOps(const TrivialAugmentWide&) { return kMostAugmentOps; }
  static DeviceNeed Need(const TrivialAugmentWide&) { return {true, 1}; }

  static void Draw(const TrivialAugmentWide& op, const Pixels& shape, RandomStream& draws,
                   PixelOps& ops) {
    const AugmentKind kind = DrawAugment(draws);
    const auto bin = static_cast<std::uint32_t>(draws.Below(op.bins));
    const double magnitude = AugmentMagnitude(kind, true, bin, op.bins, shape.width, shape.height);
    AddAugment(kind, WithDrawnSign(kind, magnitude, draws), op.bilinear, op.fill, shape, ops);
  }
};

}  // namespace sluice
