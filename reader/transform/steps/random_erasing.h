#pragma once

#include "reader/transform/pixel_step.h"
#include "reader/transform/portable_math.h"

namespace sluice {

template <>
struct StepOf<RandomErasing> : PixelStep {
  static constexpr const char* kName = "RandomErasing";
  static constexpr const char* kText = "erase[:probability[/scale/scale]]";
  static constexpr std::uint8_t kDraws = 10;
  static constexpr bool kMovesPixels = false;
  static void List(RandomErasing& op, ParameterList& list) {
    list.Chance(op.probability);
    list.Range("scale", op.min_scale, op.max_scale, Above(0, 1));
    list.Range("ratio", op.min_ratio, op.max_ratio, Inside(1.0 / 256, 256), Told::kNamedIfUnusual);
    if (!op.noise) list.Colour("value", op.value);
    list.Flag("noise", op.noise);
  }
  static std::size_t MostOps(const RandomErasing& op) {
    return op.noise ? OpsWithWords(kNoiseWords) : 1;
  }

  // Erases nothing if ten tries give no rectangle.
  static void Draw(const RandomErasing& op, const Pixels& shape, RandomStream& draws,
                   PixelOps& ops) {
    const double area = double(shape.width) * shape.height;
    const double log_min = PortableLog(op.min_ratio);
    const double log_max = PortableLog(op.max_ratio);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double target = area * Between(op.min_scale, op.max_scale, draws);
      const double ratio = PortableExp(Between(log_min, log_max, draws));
      const auto height = static_cast<std::uint64_t>(std::sqrt(target * ratio) + 0.5);
      const auto width = static_cast<std::uint64_t>(std::sqrt(target / ratio) + 0.5);
      if (height >= shape.height || width >= shape.width) continue;
      PixelOp erase = OpOf(PixelOpKind::kErase);
      erase.top = static_cast<std::uint16_t>(draws.Below(shape.height - height + 1));
      erase.left = static_cast<std::uint16_t>(draws.Below(shape.width - width + 1));
      erase.height = static_cast<std::uint16_t>(height);
      erase.width = static_cast<std::uint16_t>(width);
      if (op.noise) return AddNoise(erase, draws, ops);
      std::copy(op.value.begin(), op.value.end(), erase.value);
      ops.Add(erase);
      return;
    }
  }

 private:
  // The draws of its values come after those of the rectangle.
  static void AddNoise(PixelOp erase, const RandomStream& draws, PixelOps& ops) {
    const RandomStream::Place at = draws.place();
    erase.kind = PixelOpKind::kNoise;
    erase.number = at.word;
    ops.Add(erase);
    const std::uint32_t words[kNoiseWords] = {static_cast<std::uint32_t>(at.key),
                                              static_cast<std::uint32_t>(at.key >> 32),
                                              at.counter[0],
                                              at.counter[1],
                                              at.counter[2],
                                              at.counter[3]};
    ops.AddWords(words, kNoiseWords);
  }
};

}  // namespace sluice
