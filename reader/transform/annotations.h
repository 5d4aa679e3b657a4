// Moves boxes and key points together with their picture, as a frame maps it.
//
// A frame gives one map and the part of the row that shows the picture; the rest of the row is
// border. Boxes are cut off at the edges of that part, and dropped if BoxRule says so; points are
// moved. If the frame has a warp, a box is cut off in the same way before the warp, then replaced
// by the bounding box of its warped corners, which is cut off at the edges of what the row shows.
// With BoxRule::from_masks, the box around what shows of the object's mask takes its place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <sluice/transform.h>

#include "format/boxes_and_points.h"
#include "format/pixels/outline.h"
#include "reader/transform/frame.h"

namespace sluice {

// The corners, in pixels, of the box whose four values begin at `at`, in an image of that size.
template <class T>
Box CornersAt(const T* at, const Coordinates& coordinates, double width, double height) noexcept;
// Writes a box in the same way.
template <class T>
void SetCorners(const Box& box, const Coordinates& coordinates, double width, double height,
                T* at) noexcept;

// The map from a picture's points to the target, which is its row.
struct PointMap {
  Projection map;  // from the picture's pixels to the target's
  Box shown;       // the part of the target that shows the picture; before a warp, if any
  bool warped = false;
  AffineMap before;  // the two parts of `map`
  Projection warp;
  Box shown_after;                      // the part of the target that shows the picture
  std::uint32_t width = 0, height = 0;  // of the picture
  std::uint32_t target_width = 0, target_height = 0;

  PointMap() = default;
  PointMap(const Frame& frame, std::uint32_t picture_width, std::uint32_t picture_height);
  bool mirrored() const noexcept { return map.Determinant() < 0; }
  // Whether the target shows that point of the picture. Edges count as shown, so that a flip hides
  // nothing.
  bool Shows(double x, double y) const noexcept;
};

// An oriented box, in the same way.
inline SeenBox SeenIn(const OrientedBox& box, const Box& at) noexcept {
  return SeenIn(box, at.left, at.top, at.right, at.bottom);
}
template <class T>
OrientedBox OrientedAt(const T* at, const Coordinates& coordinates, double width,
                       double height) noexcept;
template <class T>
void SetOriented(const OrientedBox& box, const Coordinates& coordinates, double width,
                 double height, T* at) noexcept;

// The part of a box of the picture that the target shows.
Box Seen(const Box& box, const PointMap& map) noexcept;

// The part of an object's mask that a row shows.
struct ShownMask {
  bool drawn = false;        // the object has an outline or runs
  std::uint64_t pixels = 0;  // of the row
  Box box;                   // around them, on whole pixels
};
// Measures joined runs of a row of that height. Leaves `drawn` false.
ShownMask MaskOf(std::span<const PixelRun> runs, std::uint64_t height) noexcept;

// Whether the rule looks at the objects' masks.
inline bool LooksAtMasks(const BoxRule& rule) noexcept {
  return rule.min_mask > 0 || rule.from_masks;
}

// The limits that decide which boxes are kept.
struct BoxLimits {
  const BoxRule& rule;                         // all of it but `most`
  std::span<const std::uint8_t> dropped = {};  // by box: a step has dropped it; may be empty
  // By box, for the parts of the rule that look at masks; empty if it has none.
  std::span<const ShownMask> masks = {};
};

// Moves boxes of Coordinates::of_box() values each, in place, and says for each whether the limits
// keep it. Dropped boxes are set to zero. A mirrored oriented box still goes around in the same
// direction.
template <class T>
void MapBoxes(std::span<T> boxes, const Coordinates& coordinates, const PointMap& map,
              const BoxLimits& limits, std::vector<std::uint8_t>& kept);

// Of the boxes that are kept, keeps the `most` with the largest areas, and of equal ones the
// earlier. The others are set to zero. Returns how many these are.
template <class T>
std::size_t KeepLargest(std::span<T> boxes, const Coordinates& coordinates, std::uint64_t most,
                        std::vector<std::uint8_t>& kept);

// The boxes of a picture of that size, in its pixels; of oriented ones, the upright boxes around
// them.
template <class T>
void ReadBoxes(std::span<const T> values, const Coordinates& coordinates,
               const PictureExtent& picture, PictureBoxes& boxes);

struct PointShape {
  std::size_t points = 1;  // of an entry
  std::size_t values = 2;  // of a point: x and y; 3: a visibility at the end
  FlipPairs pairs;
};
// Moves key points, in place. A moved point that is not shown gets visibility 0. A point whose
// visibility is already 0 is not moved. If the picture is mirrored, the points of each pair change
// places.
template <class T>
void MapPoints(std::span<T> entries, const PointShape& shape, const Coordinates& coordinates,
               const PointMap& map);

// The same region for a picture of another size, such as a mask at half the resolution.
Region Scaled(const Region& region, std::uint32_t width, std::uint32_t height,
              std::uint32_t to_width, std::uint32_t to_height);

}  // namespace sluice
