#pragma once

#include "reader/transform/pixel_step.h"
#include "reader/transform/portable_math.h"

namespace sluice {

template <>
struct StepOf<GaussianBlur> : PixelStep {
  static constexpr const char* kName = "GaussianBlur";
  static constexpr const char* kText = "blur:kernel[/sigma[/sigma]]";
  static constexpr std::uint8_t kDraws = 3;
  static constexpr bool kMovesPixels = false;
  static void List(GaussianBlur& op, ParameterList& list) {
    list.Whole("kernel", op.kernel, 3, kMostWeights);
    list.Range("sigma", op.min_sigma, op.max_sigma, Above(0, 1000));
    list.Chance(op.probability);
  }
  static const char* Wrong(const GaussianBlur& op) {
    return op.kernel % 2 == 0 ? "needs an odd kernel" : nullptr;
  }
  static void CheckFits(const GaussianBlur& op, std::uint32_t width, std::uint32_t height) {
    if (op.kernel / 2 < std::min(width, height)) return;
    RefuseTransform("GaussianBlur's kernel of " + std::to_string(op.kernel) +
                    " pixels is too large for images of " + std::to_string(width) + "x" +
                    std::to_string(height));
  }
  static std::size_t MostOps(const GaussianBlur& op) { return OpsWithWords(TapsUpToMiddle(op)); }
  static DeviceNeed Need(const GaussianBlur&) { return {true, 2}; }  // two-byte sums

  static void Draw(const GaussianBlur& op, const Pixels&, RandomStream& draws, PixelOps& ops) {
    const double sigma = Between(op.min_sigma, op.max_sigma, draws);
    const auto at = [&](std::uint32_t i) {
      const double x = (double(i) - (op.kernel - 1) / 2.0) / sigma;
      return PortableExp(std::max(-0.5 * x * x, -600.0));
    };
    double sum = 0;
    for (std::uint32_t i = 0; i < op.kernel; ++i)
      sum += at(i);
    const std::uint32_t middle = op.kernel / 2;
    std::uint32_t weights[kMostWeights / 2 + 1] = {};
    std::uint32_t rest = 65536;
    for (std::uint32_t i = 0; i <= middle; ++i) {
      weights[i] = static_cast<std::uint32_t>(at(i) / sum * 65536 + 0.5);
      rest -= i < middle ? 2 * weights[i] : weights[i];
    }
    weights[middle] += rest;  // modulo 2^32: `rest` may be negative
    PixelOp blur = OpOf(PixelOpKind::kBlur);
    blur.number = op.kernel;
    ops.Add(blur);
    ops.AddWords(weights, TapsUpToMiddle(op));
  }

 private:
  // Only these weights are stored as words; the others mirror them.
  static std::uint32_t TapsUpToMiddle(const GaussianBlur& op) noexcept { return op.kernel / 2 + 1; }
  static_assert(OpsWithWords(kMostWeights / 2 + 1) <= PixelOps::kMost);
};

}  // namespace sluice
