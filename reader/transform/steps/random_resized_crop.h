#pragma once

#include "reader/transform/framing.h"
#include "reader/transform/portable_math.h"

namespace sluice {

template <>
struct StepOf<RandomResizedCrop> : GeometricStep {
  static constexpr const char* kName = "RandomResizedCrop";
  static constexpr const char* kText = "rrc:size[/scale/scale[/ratio/ratio]]";
  static constexpr std::uint16_t kDraws = 1;
  static constexpr bool kResizes = true;
  static void List(RandomResizedCrop& op, ParameterList& list) {
    list.Size(op.width, op.height);
    list.Filtering(op.filter);
    list.Range("scale", op.min_scale, op.max_scale, Above(0, 1), Told::kNamedIfUnusual);
    list.Range("ratio", op.min_ratio, op.max_ratio, Inside(1.0 / 256, 256), Told::kNamedIfUnusual);
  }

  static void Take(const RandomResizedCrop& op, Framing& framing) {
    const Place crop = Draw(op, framing.width(), framing.height(), framing.Draws(op));
    framing.Cut(crop.left, crop.top, crop.width, crop.height);
    framing.ResizeTo(op.width, op.height, op.filter);
  }

 private:
  struct Place {
    std::uint32_t left = 0, top = 0, width = 0, height = 0;
  };
  static std::uint32_t RoundToPixels(double value) {
    return static_cast<std::uint32_t>(value + 0.5);
  }
  static Place Draw(const RandomResizedCrop& op, std::uint32_t width, std::uint32_t height,
                    RandomStream draws) {
    const double area = double(width) * height;
    const double log_min = PortableLog(op.min_ratio);
    const double log_max = PortableLog(op.max_ratio);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double target = area * (op.min_scale + draws.Uniform() * (op.max_scale - op.min_scale));
      const double ratio = PortableExp(log_min + draws.Uniform() * (log_max - log_min));
      // The square root is exactly rounded by IEEE 754. Both sides stay below 2^32: ratio < 65536.
      const double w = std::sqrt(target * ratio);
      const double h = std::sqrt(target / ratio);
      if (w + 0.5 >= double(width) + 1 || h + 0.5 >= double(height) + 1) continue;
      const std::uint32_t crop_width = RoundToPixels(w);
      const std::uint32_t crop_height = RoundToPixels(h);
      if (crop_width == 0 || crop_height == 0) continue;
      return {static_cast<std::uint32_t>(draws.Below(width - crop_width + 1)),
              static_cast<std::uint32_t>(draws.Below(height - crop_height + 1)), crop_width,
              crop_height};
    }
    const double ratio = double(width) / height;
    Place crop{0, 0, width, height};
    if (ratio < op.min_ratio) {
      crop.height = std::clamp(RoundToPixels(width / op.min_ratio), 1U, height);
    } else if (ratio > op.max_ratio) {
      crop.width = std::clamp(RoundToPixels(height * op.max_ratio), 1U, width);
    }
    crop.left = (width - crop.width) / 2;
    crop.top = (height - crop.height) / 2;
    return crop;
  }
};

}  // namespace sluice
