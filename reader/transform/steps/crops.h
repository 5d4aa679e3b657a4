// Steps that choose a part of the picture, or its size. They only compute numbers of the frame; the
// pixels are resampled once, after all steps.
//
// Crop() leaves the scale as it is, and what lies beyond the picture becomes a border. Cut()
// chooses the part that ResizeTo() then scales; the filter sees no pixels outside it, as if the
// picture ended there. Random draws use only exact operations and portable_math.h, so that every
// machine draws the same crop.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

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
    // A crop that adds no border leaves that of an earlier step as it is.
    const bool pads = left < 0 || top < 0 || left + op.width > framing.width() ||
                      top + op.height > framing.height();
    framing.Crop(left, top, op.width, op.height);
    if (pads) framing.SetBorder(op.border, op.fill);
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

// Sides that a step computes from the picture's are rounded down, to at least 1.
inline std::uint32_t RoundedSide(double side) {
  return static_cast<std::uint32_t>(std::clamp(side, 1.0, double(kMaxImageSide)));
}

// The sides of the result so far, multiplied by the drawn scale, or the bounds of what any scale
// from `least` to `most` makes of them. Rounding both sides down changes their ratio, and most
// where the shorter side becomes less than 2 pixels and is cut to 1.
inline PictureExtent ScaledSides(const Framing& framing, double scale, double least, double most) {
  const double width = framing.width(), height = framing.height();
  const DrawnSize sizes = framing.sizes();
  if (sizes == DrawnSize::kDrawn) return {RoundedSide(width * scale), RoundedSide(height * scale)};
  constexpr double kRounding = 1e-6;
  // A bound of the ratio of two scaled sides. It grows until the second side has 2 pixels, and
  // becomes smaller from there on.
  const auto ratio = [&](double first, double second) {
    const double at = std::clamp(2 / second, least, most);
    return std::max(first * at, 1.0) / std::max(second * at - 1, 1.0);
  };
  // The side that is the greatest or the least, and the other side of a result of the most extreme
  // ratio.
  const auto great = [&](double of, double other) {
    const double side = std::max(std::floor(of * most + kRounding), 1.0);
    return std::pair(side, side / ratio(of, other));
  };
  const auto small = [&](double of, double other) {
    const double side = std::max(std::floor(of * least - kRounding), 1.0);
    return std::pair(side, std::ceil(side * ratio(other, of)));
  };
  const bool by_width = sizes == DrawnSize::kMostWide || sizes == DrawnSize::kLeastHigh;
  const bool largest = sizes == DrawnSize::kMostWide || sizes == DrawnSize::kMostHigh;
  const double of = by_width ? width : height, other = by_width ? height : width;
  const auto [side, other_side] = largest ? great(of, other) : small(of, other);
  return {RoundedSide(by_width ? side : other_side), RoundedSide(by_width ? other_side : side)};
}

template <>
struct StepOf<Letterbox> : GeometricStep {
  static constexpr const char* kName = "Letterbox";
  static constexpr const char* kText = "letterbox:size";
  static constexpr bool kResizes = true;
  static void List(Letterbox& op, ParameterList& list) {
    list.Size(op.width, op.height);
    list.Colour("fill", op.fill);
    // Words for what is unusual.
    bool keeps_small = !op.scale_up, corner = !op.center;
    list.Flag("noscaleup", keeps_small);
    list.Flag("corner", corner);
    op.scale_up = !keeps_small;
    op.center = !corner;
    list.Filtering(op.filter);
  }
  static bool MayPad(const Letterbox& op, const std::optional<PictureExtent>& from) {
    return !from || Fitted(op, from->width, from->height) != PictureExtent{op.width, op.height};
  }

  static void Take(const Letterbox& op, Framing& framing) {
    const PictureExtent fitted = Fitted(op, framing.width(), framing.height());
    // As in Ultralytics: where the room is odd, the first side gets less of it.
    const auto margin = [&op](std::uint32_t room) {
      return op.center && room > 0 ? static_cast<std::int64_t>(RoundHalfEven(room / 2.0 - 0.1)) : 0;
    };
    framing.ResizeTo(fitted.width, fitted.height, op.filter);
    framing.Crop(-margin(op.width - fitted.width), -margin(op.height - fitted.height), op.width,
                 op.height);
    framing.SetBorder(Border::kConstant, op.fill);
  }

 private:
  static PictureExtent Fitted(const Letterbox& op, std::uint32_t width, std::uint32_t height) {
    const double fits = std::min(double(op.height) / height, double(op.width) / width);
    const double scale = op.scale_up ? fits : std::min(fits, 1.0);
    const auto side = [scale](std::uint32_t of, std::uint32_t most) {
      return static_cast<std::uint32_t>(std::clamp(RoundHalfEven(of * scale), 1.0, double(most)));
    };
    return {side(width, op.width), side(height, op.height)};
  }
};

template <>
struct StepOf<RandomZoomOut> : GeometricStep {
  static constexpr const char* kName = "RandomZoomOut";
  static constexpr const char* kText = "zoomout[:side/side]";
  static constexpr std::uint16_t kDraws = 8;
  static constexpr bool kDrawsSize = true;
  static void List(RandomZoomOut& op, ParameterList& list) {
    list.Range("side", op.min_side, op.max_side, AtLeast(1, 16), Shown::kNamedIfUnusual);
    list.Colour("fill", op.fill);
    list.Chance(op.probability);
  }
  static bool MayPad(const RandomZoomOut&, const std::optional<PictureExtent>&) { return true; }

  static void Take(const RandomZoomOut& op, Framing& framing) {
    RandomStream draws = framing.Draws(op);
    const bool drawn = framing.sizes() == DrawnSize::kDrawn;
    if (!(draws.Uniform() < op.probability) && drawn) return;
    const double side = Between(op.min_side, op.max_side, draws);
    const auto [width, height] =
        ScaledSides(framing, side, op.probability < 1 ? 1 : op.min_side, op.max_side);
    if (!drawn) return framing.Crop(0, 0, width, height);
    const auto offset = [&draws](std::uint32_t room) {
      return static_cast<std::int64_t>(room * draws.Uniform());
    };
    const std::int64_t left = offset(width - framing.width());
    const std::int64_t top = offset(height - framing.height());
    framing.Crop(-left, -top, width, height);
    framing.SetBorder(Border::kConstant, op.fill);
  }
};

template <>
struct StepOf<ScaleJitter> : GeometricStep {
  static constexpr const char* kName = "ScaleJitter";
  static constexpr const char* kText = "scalejitter:size[/scale/scale]";
  static constexpr std::uint16_t kDraws = 10;
  static constexpr bool kResizes = true;
  static constexpr bool kDrawsSize = true;
  static void List(ScaleJitter& op, ParameterList& list) {
    list.Size(op.target_width, op.target_height);
    list.Range("scale", op.min_scale, op.max_scale, AtLeast(0.01, 100), Shown::kNamedIfUnusual);
    list.Filtering(op.filter);
  }

  static void Take(const ScaleJitter& op, Framing& framing) {
    RandomStream draws = framing.Draws(op);
    const double width = framing.width(), height = framing.height();
    const double fits = std::min(op.target_height / height, op.target_width / width);
    const PictureExtent size =
        ScaledSides(framing, fits * Between(op.min_scale, op.max_scale, draws), fits * op.min_scale,
                    fits * op.max_scale);
    framing.ResizeTo(size.width, size.height, op.filter);
  }
};

template <>
struct StepOf<FixedSizeCrop> : GeometricStep {
  static constexpr const char* kName = "FixedSizeCrop";
  static constexpr const char* kText = "fixedcrop:size";
  static constexpr std::uint16_t kDraws = 12;
  static void List(FixedSizeCrop& op, ParameterList& list) {
    list.Size(op.width, op.height);
    list.Colour("fill", op.fill);
  }
  static bool MayPad(const FixedSizeCrop& op, const std::optional<PictureExtent>& from) {
    return !Holds(from, op.width, op.height);
  }

  static void Take(const FixedSizeCrop& op, Framing& framing) {
    RandomStream draws = framing.Draws(op);
    const double share = draws.Uniform();
    const auto offset = [share](std::uint32_t has, std::uint32_t wanted) {
      return static_cast<std::int64_t>((has - std::min(has, wanted)) * share);
    };
    const bool pads = framing.width() < op.width || framing.height() < op.height;
    framing.Crop(offset(framing.width(), op.width), offset(framing.height(), op.height), op.width,
                 op.height);
    if (pads) framing.SetBorder(Border::kConstant, op.fill);
  }
};

template <>
struct StepOf<RandomShortestSize> : GeometricStep {
  static constexpr const char* kName = "RandomShortestSize";
  static constexpr const char* kText = "shortest:min_size[+max_size]";
  static constexpr std::uint16_t kDraws = 11;
  static constexpr bool kResizes = true;
  static constexpr bool kDrawsSize = true;
  static void List(RandomShortestSize& op, ParameterList& list) {
    list.Wholes("min_size", op.min_size, 1, kMaxImageSide);
    list.Whole("max_size", op.max_size, 0, kMaxImageSide, Shown::kNamedIfUnusual);
    list.Filtering(op.filter);
  }

  static void Take(const RandomShortestSize& op, Framing& framing) {
    RandomStream draws = framing.Draws(op);
    const double width = framing.width(), height = framing.height();
    const auto scale = [&](std::uint32_t side) {
      const double shorter = side / std::min(width, height);
      return op.max_size > 0 ? std::min(shorter, op.max_size / std::max(width, height)) : shorter;
    };
    const PictureExtent size =
        ScaledSides(framing, scale(op.min_size[draws.Below(op.min_size.size())]),
                    scale(std::ranges::min(op.min_size)), scale(std::ranges::max(op.min_size)));
    framing.ResizeTo(size.width, size.height, op.filter);
  }
};

template <>
struct StepOf<RandomIoUCrop> : GeometricStep {
  static constexpr const char* kName = "RandomIoUCrop";
  static constexpr const char* kText = "ioucrop";
  static constexpr std::uint16_t kDraws = 9;
  static constexpr bool kDrawsSize = true;
  static constexpr bool kNeedsBoxes = true;
  static void List(RandomIoUCrop& op, ParameterList& list) {
    list.Range("scale", op.min_scale, op.max_scale, Above(0, 1), Shown::kNamedIfUnusual);
    list.Range("aspect_ratio", op.min_aspect_ratio, op.max_aspect_ratio, Inside(1.0 / 256, 256),
               Shown::kNamedIfUnusual);
    list.Numbers("sampler_options", op.sampler_options, AtLeast(0, 1e6), Shown::kNamedIfUnusual);
    list.Whole("trials", op.trials, 1, 1000, Shown::kNamedIfUnusual);
  }

  static void Take(const RandomIoUCrop& op, Framing& framing) {
    RandomStream draws = framing.Draws(op);
    const double width = framing.width(), height = framing.height();
    if (framing.sizes() != DrawnSize::kDrawn) return CropToBound(op, framing);
    const std::vector<Framing::SeenBox> boxes = framing.Boxes();
    if (boxes.empty()) return;
    constexpr int kRounds = 50;  // where no option can be met, torchvision never ends
    for (int round = 0; round < kRounds; ++round) {
      const double option = op.sampler_options[draws.Below(op.sampler_options.size())];
      if (option >= 1) return;
      for (std::uint32_t trial = 0; trial < op.trials; ++trial) {
        const double crop_width = std::floor(width * Between(op.min_scale, op.max_scale, draws));
        const double crop_height = std::floor(height * Between(op.min_scale, op.max_scale, draws));
        const double ratio = crop_width / crop_height;
        if (!(ratio >= op.min_aspect_ratio && ratio <= op.max_aspect_ratio)) continue;
        const double left = std::floor((width - crop_width) * draws.Uniform());
        const double top = std::floor((height - crop_height) * draws.Uniform());
        const Box crop{left, top, left + crop_width, top + crop_height};
        if (crop_width < 1 || crop_height < 1 || !Fits(boxes, crop, option)) continue;
        for (const Framing::SeenBox& box : boxes)
          if (!HasCentre(crop, box.box)) framing.Drop(box.number);
        return framing.Cut(static_cast<std::int64_t>(left), static_cast<std::int64_t>(top),
                           static_cast<std::uint32_t>(crop_width),
                           static_cast<std::uint32_t>(crop_height));
      }
    }
  }

 private:
  // The picture may stay whole, and a crop's sides are drawn each by itself.
  static void CropToBound(const RandomIoUCrop& op, Framing& framing) {
    const DrawnSize sizes = framing.sizes();
    const double width = framing.width(), height = framing.height();
    const bool wide = sizes == DrawnSize::kMostWide || sizes == DrawnSize::kLeastWide;
    const bool largest = sizes == DrawnSize::kMostWide || sizes == DrawnSize::kMostHigh;
    const double least = std::floor((wide ? height : width) * op.min_scale - 1e-6);
    // With the greatest side, no ratio is beyond its bound; the least side may have any other.
    const double by_ratio = wide ? width / op.max_aspect_ratio : height * op.min_aspect_ratio;
    const double other = largest ? std::max(least, std::floor(by_ratio)) : least;
    const std::uint32_t side =
        std::min(RoundedSide(other), wide ? framing.height() : framing.width());
    framing.Cut(0, 0, wide ? framing.width() : side, wide ? side : framing.height());
  }
  static bool HasCentre(const Box& crop, const Box& box) {
    const double x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
    return crop.left < x && x < crop.right && crop.top < y && y < crop.bottom;
  }
  static double Area(const Box& box) {
    return std::max(0.0, box.right - box.left) * std::max(0.0, box.bottom - box.top);
  }
  // Whether a box with its centre in the crop overlaps with it so much.
  static bool Fits(const std::vector<Framing::SeenBox>& boxes, const Box& crop, double least) {
    return std::ranges::any_of(boxes, [&](const Framing::SeenBox& seen) {
      const Box& box = seen.box;
      if (!HasCentre(crop, box)) return false;
      const double both =
          Area({std::max(box.left, crop.left), std::max(box.top, crop.top),
                std::min(box.right, crop.right), std::min(box.bottom, crop.bottom)});
      return both / (Area(box) + Area(crop) - both) >= least;
    });
  }
};

template <>
struct StepOf<Mosaic> : GeometricStep {
  static constexpr const char* kName = "Mosaic";
  static constexpr const char* kText = "mosaic:cell[/center/center]";
  static constexpr std::uint16_t kDraws = 14;
  static constexpr bool kResizes = true;
  static constexpr bool kMosaic = true;
  static void List(Mosaic& op, ParameterList& list) {
    list.Whole("cell", op.cell, 1, kMaxImageSide / 2);
    list.Range("center", op.min_center, op.max_center, AtLeast(0, 2), Shown::kNamedIfUnusual);
    list.Colour("fill", op.fill);
  }
  static bool MayPad(const Mosaic&, const std::optional<PictureExtent>&) { return true; }

  static void Take(const Mosaic& op, Framing& framing) {
    framing.DrawForRow();
    RandomStream draws = framing.Draws(op);
    const auto drawn = [&] {
      return static_cast<std::int64_t>(
          Between(op.cell * op.min_center, op.cell * op.max_center, draws));
    };
    const std::int64_t x = drawn(), y = drawn();  // the centre
    const std::uint64_t longer = std::max(framing.width(), framing.height());
    const auto side = [&](std::uint64_t of) {
      return static_cast<std::uint32_t>((of * op.cell + longer - 1) / longer);
    };
    framing.ResizeTo(side(framing.width()), side(framing.height()), Filter::kTriangle);
    const bool right = framing.part() % 2 == 1, low = framing.part() / 2 == 1;
    framing.Crop((right ? 0 : std::int64_t{framing.width()}) - x,
                 (low ? 0 : std::int64_t{framing.height()}) - y, 2 * op.cell, 2 * op.cell);
    framing.BeginCanvas(op.fill);
  }
};

}  // namespace sluice
