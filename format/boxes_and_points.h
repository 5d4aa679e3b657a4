// Boxes and key points: what the numbers of their fields mean, and which fields can be moved
// together with their image. See FORMAT.md, "Boxes, key points, masks".
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/schema.h>

namespace sluice {

// Whether the field has the role of boxes or that of key points.
bool IsDrawn(const Field& field) noexcept;

// The meaning of a box's or point's numbers, by Field::coordinates.
struct Coordinates {
  enum class Form { kCorners, kCornerSize, kCentreSize, kFourCorners };
  Form form = Form::kCorners;  // boxes
  bool relative = false;       // in shares of the picture's width and height

  // How many numbers a box has.
  std::size_t of_box() const noexcept { return form == Form::kFourCorners ? 8 : 4; }

  // Of a field with the role boxes: "xyxy-pixels" ("" means the same), "xywh-pixels",
  // "cxcywh-pixels", "corners-pixels"; or "-relative" for "-pixels". Of key points: "pixels" ("",
  // "xy-pixels" and "xyv-pixels" mean the same); or "relative" for "pixels".
  static std::optional<Coordinates> Of(const Field& field);
};

// An oriented box: its four corners, in their order around it.
struct OrientedBox {
  std::array<double, 8> xy{};  // x and y of each

  // Signed: above 0 if the corners go clockwise, with y down.
  double SignedArea() const noexcept;
  double area() const noexcept { return std::abs(SignedArea()); }
  // The lengths of the sides that begin at the first corner and at the second; of two opposite
  // sides, the mean.
  std::array<double, 2> sides() const noexcept;
  // Goes around in the other direction, from the same corner.
  void Reverse() noexcept;
};

struct SeenBox {
  OrientedBox box;
  double area = 0;  // of what is seen; 0 if it is nothing, or if a corner is not a number
};
// The part of an oriented box that a rectangle shows. A box that is cut keeps its angle: it becomes
// the smallest one around what is seen, with sides along its own. A box that is not cut stays as it
// is, also if its corners are not right angles.
SeenBox SeenIn(const OrientedBox& box, double left, double top, double right,
               double bottom) noexcept;

// Pairs of points, counted from 0, that change places when the picture is mirrored.
using FlipPairs = std::vector<std::pair<std::size_t, std::size_t>>;
// Parses Field::attributes["flip_pairs"], such as "1-2,3-4"; "" and "none": no points do. Returns
// nothing if the text cannot be read, if a number is not below `points`, or if a point is in two
// pairs.
std::optional<FlipPairs> ParseFlipPairs(std::string_view text, std::size_t points);

// How many points an object has, in a field of key points.
std::size_t PointsOf(const Field& field) noexcept;

// Why the numbers of a field of boxes or key points cannot be moved with an image, as the rest of a
// sentence that begins with the field. Empty if they can be.
std::string WhyNotMovable(const Field& field);

// Whether the entries of a variable field belong to the boxes of its image: classes, flags, key
// points of boxes. (If each entry is a single point, points belong to no box.)
bool BelongsToBoxes(const Field& field) noexcept;

}  // namespace sluice
