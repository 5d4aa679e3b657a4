// Boxes and key points that follow their picture through a frame.
//
// A frame is an affine map, and a part of the target that shows the picture (the rest is border).
// Boxes are cut off where that part ends, and dropped by a rule; points are moved. What a warp
// turns is cut off before it, bounded by a box anew behind it, and cut off where the target ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/transform.h>

#include "reader/transform/frame.h"

namespace sluice {

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
};

// Where a picture's points come to lie.
struct PointMap {
  AffineMap map;  // pixels of the picture to those of the target
  Box shown;      // what shows the picture, in the target; before a warp, if there is one
  bool warped = false;
  AffineMap before, warp;               // the two parts of `map`
  std::uint32_t width = 0, height = 0;  // of the picture
  std::uint32_t target_width = 0, target_height = 0;

  PointMap() = default;
  PointMap(const Frame& frame, std::uint32_t picture_width, std::uint32_t picture_height);
  bool mirrored() const noexcept { return map.Determinant() < 0; }
  // Whether the target shows that point of the picture. Edges are part of what is shown, so that a
  // flip hides nothing.
  bool Shows(double x, double y) const noexcept;
};

// What the numbers of a box or point say, by Field::coordinates.
struct Coordinates {
  enum class Form { kCorners, kCornerSize, kCentreSize };
  Form form = Form::kCorners;  // boxes
  bool relative = false;       // in shares of the picture's width and height

  // "xyxy-pixels" (also for ""), "xywh-pixels", "cxcywh-pixels", and the same with "-relative".
  static std::optional<Coordinates> OfBoxes(std::string_view text);
  // "pixels" (also for "" and "xy-pixels", "xyv-pixels"), and the same with "relative".
  static std::optional<Coordinates> OfPoints(std::string_view text);
};

// Moves boxes of four values each, in place, and says of each whether the rule keeps it; those that
// it drops are left all zero.
template <class T>
void MapBoxes(std::span<T> boxes, const Coordinates& coordinates, const PointMap& map,
              const BoxRule& rule, std::vector<std::uint8_t>& kept);

// Points of `values` (2, or 3 with a visibility behind) numbers, `points` of them to an entry. A
// point outside of what is shown keeps its place and gets visibility 0; one that had none is left
// alone. Where the picture comes out mirrored, the points of each pair change places.
struct PointShape {
  std::size_t points = 1;
  std::size_t values = 2;
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
};
template <class T>
void MapPoints(std::span<T> entries, const PointShape& shape, const Coordinates& coordinates,
               const PointMap& map);

// "1-2,3-4": pairs of points that left and right exchange, by Field::attributes["flip_pairs"].
// Nothing where it cannot be read, or a number is not below `points`.
std::optional<std::vector<std::pair<std::size_t, std::size_t>>> ParsePairs(std::string_view text,
                                                                           std::size_t points);

// The region for a picture of another size that shows the same, such as a mask at half the
// resolution.
Region Scaled(const Region& region, std::uint32_t width, std::uint32_t height,
              std::uint32_t to_width, std::uint32_t to_height);

}  // namespace sluice
