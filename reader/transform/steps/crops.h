// Steps that choose a part of the picture, or its size. They only compute numbers of the frame; the
// pixels are resampled once, after all steps.
//
// Crop() leaves the scale as it is, and what lies beyond the picture becomes a border. Cut()
// chooses the part that ResizeTo() then scales; the filter sees no pixels outside it, as if the
// picture ended there. Random draws use only exact operations and portable_math.h, so that every
// machine draws the same crop.
#pragma once

#include "format/disk/limits.h"
#include "reader/transform/frame.h"
#include "reader/transform/portable_math.h"

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
  // As in torchvision: round((grid - crop) / 2), ties to even. If the grid is smaller, the side
  // with less padding comes first.
  static std::int64_t Offset(std::uint32_t grid, std::uint32_t crop) {
    const std::int64_t room = std::int64_t{grid} - crop;
    if (room < 0) return -((-room) / 2);
    const std::int64_t half = room / 2;
    return room % 2 == 0 ? half : half + half % 2;
  }
};

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
    // The sides of the largest rectangle of the target's aspect ratio. It is as wide or as high as
    // the picture. Products of sides are exact, so a quotient that is a whole number is exact, too.
    const bool as_wide = std::uint64_t{width} * op.height <= std::uint64_t{height} * op.width;
    const double limit = as_wide ? width : height, limited = as_wide ? op.width : op.height;
    const auto side = [&](std::uint32_t of, std::uint32_t most) {
      return std::clamp(static_cast<std::uint32_t>(op.ratio * (limit * of / limited)), 1U, most);
    };
    const std::uint32_t crop_width = side(op.width, width);
    const std::uint32_t crop_height = side(op.height, height);
    framing.Cut((width - crop_width) / 2, (height - crop_height) / 2, crop_width, crop_height);
    framing.ResizeTo(op.width, op.height, op.filter);
  }
};

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
      // A picture smaller than the crop is placed at random within it: the offset is then negative.
      return (room < 0 ? -drawn : drawn) - std::int64_t{op.padding};
    };
    const std::int64_t left = offset(framing.width(), op.width);
    const std::int64_t top = offset(framing.height(), op.height);
    framing.Crop(left, top, op.width, op.height);
    framing.SetBorder(op.border, op.fill);
  }
};

template <>
struct StepOf<RandomResizedCrop> : GeometricStep {
  static constexpr const char* kName = "RandomResizedCrop";
  static constexpr const char* kText = "rrc:size[/scale/scale[/ratio/ratio]]";
  static constexpr std::uint16_t kDraws = 1;
  static constexpr bool kResizes = true;
  static void List(RandomResizedCrop& op, ParameterList& list) {
    list.Size(op.width, op.height);
    list.Filtering(op.filter);
    list.Range("scale", op.min_scale, op.max_scale, Above(0, 1), Shown::kNamedIfUnusual);
    list.Range("ratio", op.min_ratio, op.max_ratio, Inside(1.0 / 256, 256), Shown::kNamedIfUnusual);
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
    // Drawn in logarithms, so that a ratio and its inverse are equally likely.
    const double log_min = PortableLog(op.min_ratio);
    const double log_max = PortableLog(op.max_ratio);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double target = area * (op.min_scale + draws.Uniform() * (op.max_scale - op.min_scale));
      const double ratio = PortableExp(log_min + draws.Uniform() * (log_max - log_min));
      // The square root is exactly rounded by IEEE 754. Both sides stay below 2^32: ratio < 256.
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
    // After ten tries, as in torchvision: the largest centred crop whose ratio is in the range.
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

template <>
struct StepOf<Resize> : GeometricStep {
  static constexpr const char* kName = "Resize";
  static constexpr const char* kText = "resize:size";
  static constexpr bool kResizes = true;
  static void List(Resize& op, ParameterList& list) {
    list.Size(op.width, op.height);
    list.Filtering(op.filter);
  }

  static void Take(const Resize& op, Framing& framing) {
    framing.ResizeTo(op.width, op.height, op.filter);
  }
};

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
