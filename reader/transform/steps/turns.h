// Steps that turn, mirror or warp the picture.
#pragma once

#include "reader/transform/frame.h"
#include "reader/transform/portable_math.h"

namespace sluice {

template <>
struct StepOf<HorizontalFlip> : GeometricStep {
  static constexpr const char* kName = "HorizontalFlip";
  static constexpr const char* kText = "flip[:probability]";
  static constexpr std::uint16_t kDraws = 3;
  static constexpr bool kTurns = true;
  static void List(HorizontalFlip& op, ParameterList& list) { list.Chance(op.probability); }

  static void Take(const HorizontalFlip& op, Framing& framing) {
    if (framing.Draws(op).Uniform() < op.probability) framing.Mirror(true);
  }
};

template <>
struct StepOf<VerticalFlip> : GeometricStep {
  static constexpr const char* kName = "VerticalFlip";
  static constexpr const char* kText = "vflip[:probability]";
  static constexpr std::uint16_t kDraws = 4;
  static constexpr bool kTurns = true;
  static void List(VerticalFlip& op, ParameterList& list) { list.Chance(op.probability); }

  static void Take(const VerticalFlip& op, Framing& framing) {
    if (framing.Draws(op).Uniform() < op.probability) framing.Mirror(false);
  }
};

template <>
struct StepOf<RandomQuarterTurns> : GeometricStep {
  static constexpr const char* kName = "RandomQuarterTurns";
  static constexpr const char* kText = "turns[:probability]";
  static constexpr std::uint16_t kDraws = 5;
  static constexpr bool kTurns = true;
  static constexpr bool kSwapsSides = true;
  static constexpr const char* kRuns =
      "fused with decoding; a quarter turn swaps rows and columns in a second pass";
  static void List(RandomQuarterTurns& op, ParameterList& list) { list.Chance(op.probability); }

  static void Take(const RandomQuarterTurns& op, Framing& framing) {
    RandomStream draws = framing.Draws(op);
    if (!(draws.Uniform() < op.probability)) return;
    const std::uint64_t quarters = 1 + draws.Below(3);  // counterclockwise
    for (std::uint64_t q = 0; q < quarters; ++q) {
      framing.Transpose();
      framing.Mirror(false);
    }
  }
};

template <>
struct StepOf<RandomAffine> : GeometricStep {
  static constexpr const char* kName = "RandomAffine";
  static constexpr const char* kText = "affine:degrees[/shift[/scale/scale[/shear_x[+size]]]]";
  static constexpr std::uint16_t kDraws = 7;
  static constexpr bool kWarps = true;
  static constexpr const char* kRuns = "a second pass, bilinear";
  static void List(RandomAffine& op, ParameterList& list) {
    list.Range("degrees", op.min_degrees, op.max_degrees, AtLeast(-360, 360));
    list.Chance(op.probability);
    list.Shift(op.translate_x, op.translate_y, AtLeast(0, 1));
    list.Range("scale", op.min_scale, op.max_scale, AtLeast(0.01, 100), Shown::kNamedIfUnusual);
    list.Range("shear_x", op.min_shear_x, op.max_shear_x, AtLeast(-80, 80), Shown::kNamedIfUnusual);
    list.Range("shear_y", op.min_shear_y, op.max_shear_y, AtLeast(-80, 80), Shown::kNamedIfUnusual);
    list.Colour("fill", op.fill);
    list.SizeIfAny(op.width, op.height);
  }
  static const char* HowItRuns(const RandomAffine& op) {
    const bool upright = op.min_degrees == 0 && op.max_degrees == 0 && op.min_shear_x == 0 &&
                         op.max_shear_x == 0 && op.min_shear_y == 0 && op.max_shear_y == 0;
    return upright && op.width != 0 ? "fused with decoding, unless a step before it turns or shears"
                                    : kRuns;
  }
  // With a size of its own, the map is folded into the region where it can be.
  static bool ChoosesRegion(const RandomAffine& op) { return op.width != 0; }
  static bool MayPad(const RandomAffine& op, const std::optional<PictureExtent>&) {
    return op.width != 0;
  }

  static void Take(const RandomAffine& op, Framing& framing) {
    RandomStream draws = framing.Draws(op);
    const bool taken = draws.Uniform() < op.probability;
    const PictureExtent from{framing.width(), framing.height()};
    const PictureExtent to = op.width != 0 ? PictureExtent{op.width, op.height} : from;
    const double most_x = op.translate_x * to.width;
    const double most_y = op.translate_y * to.height;
    const AffineParameters drawn{.degrees = Between(op.min_degrees, op.max_degrees, draws),
                                 .shift_x = RoundHalfEven(Between(-most_x, most_x, draws)),
                                 .shift_y = RoundHalfEven(Between(-most_y, most_y, draws)),
                                 .scale = Between(op.min_scale, op.max_scale, draws),
                                 .shear_x = Between(op.min_shear_x, op.max_shear_x, draws),
                                 .shear_y = Between(op.min_shear_y, op.max_shear_y, draws)};
    if (op.width == 0) {
      if (taken) framing.Warp(AffineAbout(from.width, from.height, drawn), op.fill);
      return;
    }
    AffineMap map = AffineAbout(from.width, from.height, taken ? drawn : AffineParameters());
    map.x0 += (double(to.width) - from.width) / 2;
    map.y0 += (double(to.height) - from.height) / 2;
    framing.WarpTo(map, to, op.fill);
  }
};

template <>
struct StepOf<RandomPerspective> : GeometricStep {
  static constexpr const char* kName = "RandomPerspective";
  static constexpr const char* kText = "perspective[:distortion_scale]";
  static constexpr std::uint16_t kDraws = 13;
  static constexpr bool kWarps = true;
  static constexpr const char* kRuns = "a second pass, bilinear";
  static void List(RandomPerspective& op, ParameterList& list) {
    list.Number("distortion_scale", op.distortion_scale, AtLeast(0, 1));
    list.Chance(op.probability);
    list.Colour("fill", op.fill);
  }
  static bool ChoosesRegion(const RandomPerspective&) { return true; }

  static void Take(const RandomPerspective& op, Framing& framing) {
    RandomStream draws = framing.Draws(op);
    if (!(draws.Uniform() < op.probability)) return;
    const std::uint32_t width = framing.width(), height = framing.height();
    if (width < 2 || height < 2) return;  // opposite corners are the same pixel
    const auto most = [&op](std::uint32_t side) {
      return static_cast<std::uint64_t>(op.distortion_scale * (side / 2));
    };
    double x[4], y[4];  // of the corners, clockwise from the upper left one
    for (int corner = 0; corner < 4; ++corner) {
      const auto by_x = static_cast<double>(draws.Below(most(width) + 1));
      const auto by_y = static_cast<double>(draws.Below(most(height) + 1));
      const bool right = corner == 1 || corner == 2, low = corner >= 2;
      x[corner] = right ? width - 1.0 - most(width) + by_x : by_x;
      y[corner] = low ? height - 1.0 - most(height) + by_y : by_y;
    }
    const std::optional<Projection> map = ToCorners(width - 1.0, height - 1.0, x, y);
    if (map) framing.WarpTo(*map, {width, height}, op.fill);
  }

 private:
  // The map of a rectangle's corners, (0, 0) to (width, height), to four points (Heckbert 1989).
  // None if it turned part of the rectangle behind the viewer.
  static std::optional<Projection> ToCorners(double width, double height, const double (&x)[4],
                                             const double (&y)[4]) {
    const double x1 = x[1] - x[2], x2 = x[3] - x[2], xs = x[0] - x[1] + x[2] - x[3];
    const double y1 = y[1] - y[2], y2 = y[3] - y[2], ys = y[0] - y[1] + y[2] - y[3];
    const double area = x1 * y2 - x2 * y1;
    const double wx = (xs * y2 - x2 * ys) / area, wy = (x1 * ys - xs * y1) / area;
    Projection map;
    map.xx = (x[1] - x[0] + wx * x[1]) / width;
    map.xy = (x[3] - x[0] + wy * x[3]) / height;
    map.x0 = x[0];
    map.yx = (y[1] - y[0] + wx * y[1]) / width;
    map.yy = (y[3] - y[0] + wy * y[3]) / height;
    map.y0 = y[0];
    map.wx = wx / width;
    map.wy = wy / height;
    constexpr double kLeast = 1e-3;
    // Written so that a NaN gives none.
    const bool shown = 1 + wx > kLeast && 1 + wy > kLeast && 1 + wx + wy > kLeast;
    if (!shown || !(std::abs(map.Determinant()) > 1e-9)) return std::nullopt;
    return map;
  }
};

}  // namespace sluice
