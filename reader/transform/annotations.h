// Moves boxes and key points together with their picture, as a frame maps it.
//
// A frame is an affine map, and the part of the target that shows the picture (the rest is border).
// Boxes are cut off at the edges of that part, and dropped by a rule; points are moved. If the
// frame has a warp, a box is cut off like that before the warp, then replaced by the bounding box
// of its warped corners, which is cut off at the edges of the target.
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

// The map from a picture's points to the target.
struct PointMap {
  AffineMap map;  // from the picture's pixels to the target's
  Box shown;      // the part of the target that shows the picture; before a warp, if any
  bool warped = false;
  AffineMap before, warp;               // the two parts of `map`
  std::uint32_t width = 0, height = 0;  // of the picture
  std::uint32_t target_width = 0, target_height = 0;

  PointMap() = default;
  PointMap(const Frame& frame, std::uint32_t picture_width, std::uint32_t picture_height);
  bool mirrored() const noexcept { return map.Determinant() < 0; }
  // Whether the target shows that point of the picture. Edges count as shown, so that a flip hides
  // nothing.
  bool Shows(double x, double y) const noexcept;
};

// The meaning of a box's or point's numbers, by Field::coordinates.
struct Coordinates {
  enum class Form { kCorners, kCornerSize, kCentreSize };
  Form form = Form::kCorners;  // boxes
  bool relative = false;       // in shares of the picture's width and height

  // "xyxy-pixels" (also for ""), "xywh-pixels", "cxcywh-pixels", and the same with "-relative".
  static std::optional<Coordinates> OfBoxes(std::string_view text);
  // "pixels" (also for "" and "xy-pixels", "xyv-pixels"), and the same with "relative".
  static std::optional<Coordinates> OfPoints(std::string_view text);
};

// Moves boxes of four values each, in place, and says for each whether the rule keeps it. Dropped
// boxes are set to zero.
template <class T>
void MapBoxes(std::span<T> boxes, const Coordinates& coordinates, const PointMap& map,
              const BoxRule& rule, std::vector<std::uint8_t>& kept);

// Points of `values` numbers (2, or 3 with a visibility at the end), `points` of them to an entry.
// A point that is not shown keeps its moved place and gets visibility 0; one whose visibility is
// already 0 is not changed. If the picture is mirrored, the points of each pair change places.
struct PointShape {
  std::size_t points = 1;
  std::size_t values = 2;
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
};
template <class T>
void MapPoints(std::span<T> entries, const PointShape& shape, const Coordinates& coordinates,
               const PointMap& map);

// Parses Field::attributes["flip_pairs"], such as "1-2,3-4": pairs of left and right points.
// Returns nothing if the text cannot be read, or if a number is not below `points`.
std::optional<std::vector<std::pair<std::size_t, std::size_t>>> ParsePairs(std::string_view text,
                                                                           std::size_t points);

// The same region for a picture of another size, such as a mask at half the resolution.
Region Scaled(const Region& region, std::uint32_t width, std::uint32_t height,
              std::uint32_t to_width, std::uint32_t to_height);

}  // namespace sluice
