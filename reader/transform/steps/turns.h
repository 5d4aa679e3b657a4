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
  static constexpr const char* kText = "affine:degrees[/shift[/scale/scale[/shear_x]]]";
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
  }

  static void Take(const RandomAffine& op, Framing& framing) {
    RandomStream draws = framing.Draws(op);
    const bool taken = draws.Uniform() < op.probability;
    const double most_x = op.translate_x * framing.width();
    const double most_y = op.translate_y * framing.height();
    const AffineParameters drawn{.degrees = Between(op.min_degrees, op.max_degrees, draws),
                                 .shift_x = RoundHalfEven(Between(-most_x, most_x, draws)),
                                 .shift_y = RoundHalfEven(Between(-most_y, most_y, draws)),
                                 .scale = Between(op.min_scale, op.max_scale, draws),
                                 .shear_x = Between(op.min_shear_x, op.max_shear_x, draws),
                                 .shear_y = Between(op.min_shear_y, op.max_shear_y, draws)};
    if (taken) framing.Warp(AffineAbout(framing.width(), framing.height(), drawn), op.fill);
  }
};

}  // namespace sluice
