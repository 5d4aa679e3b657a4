#pragma once

#include "reader/transform/augment.h"
#include "reader/transform/pixel_step.h"

namespace sluice {

template <>
struct StepOf<RandAugment> : PixelStep {
  static constexpr const char* kName = "RandAugment";
  static constexpr const char* kText = "randaug[:operations/magnitude[/bins]]";
  static constexpr std::uint8_t kDraws = 11;
  static void List(RandAugment& op, ParameterList& list) {
    list.Whole("operations", op.operations, 0, kMostAugments);
    list.Whole("magnitude", op.magnitude, 0, 999);
    list.Whole("bins", op.bins, 2, 1000);
    list.Flag("bilinear", op.bilinear);
    list.Colour("fill", op.fill);
    list.Chance(op.probability, Told::kNamedIfUnusual);
  }
  static const char* Wrong(const RandAugment& op) {
    return op.magnitude >= op.bins ? "needs a magnitude that is less than its bins" : nullptr;
  }
  static constexpr bool kMovesPixels = true;
  static std::size_t MostOps(const RandAugment& op) { return op.operations * kMostAugmentOps; }
  static DeviceNeed Need(const RandAugment& op) {
    return {op.operations > 0, op.operations > 0 ? std::size_t{1} : 0};
  }

  static void Draw(const RandAugment& op, const Pixels& shape, RandomStream& draws, PixelOps& ops) {
    for (unsigned i = 0; i < op.operations; ++i) {
      const AugmentKind kind = DrawAugment(draws);
      const double magnitude =
          AugmentMagnitude(kind, false, op.magnitude, op.bins, shape.width, shape.height);
      AddAugment(kind, WithDrawnSign(kind, magnitude, draws), op.bilinear, op.fill, shape, ops);
    }
  }

 private:
  static constexpr unsigned kMostAugments = 16;
  static_assert(kMostAugments * kMostAugmentOps <= PixelOps::kMost);
};

}  // namespace sluice
