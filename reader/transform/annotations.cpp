// All calculation is in double, in pixels: relative coordinates are multiplied by the picture's
// size on the way in, and divided by the target's size on the way out. A box becomes two corners,
// is moved and cut off, and takes its own form again. The rule compares the visible area with the
// area of the moved box, so that scaling has no effect on it. Comparisons are written so that a NaN
// drops the box. Pairs of points change places after all points have been moved, and only if the
// map mirrors.
#include "reader/transform/annotations.h"

#include <algorithm>
#include <cmath>

namespace sluice {

namespace {

Box CornersOf(const double (&v)[4], Coordinates::Form form) noexcept {
  switch (form) {
    case Coordinates::Form::kCornerSize: return {v[0], v[1], v[0] + v[2], v[1] + v[3]};
    case Coordinates::Form::kCentreSize:
      return {v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2};
    default: return {v[0], v[1], v[2], v[3]};
  }
}

void FromCorners(const Box& box, Coordinates::Form form, double (&v)[4]) noexcept {
  v[0] = box.left;
  v[1] = box.top;
  v[2] = box.right;
  v[3] = box.bottom;
  if (form == Coordinates::Form::kCorners) return;
  v[2] -= v[0];
  v[3] -= v[1];
  if (form == Coordinates::Form::kCornerSize) return;
  v[0] += v[2] / 2;
  v[1] += v[3] / 2;
}

double Area(const Box& box) noexcept {
  return std::max(0.0, box.right - box.left) * std::max(0.0, box.bottom - box.top);
}

// The smallest box around the moved corners. A box whose corners are out of order becomes empty.
Box Moved(const Box& box, const Projection& map) noexcept {
  if (!(box.left <= box.right && box.top <= box.bottom)) return {0, 0, 0, 0};
  // A box that reaches behind the viewer has no bounding box.
  if (!map.affine() && !(map.W(box.left, box.top) > 0 && map.W(box.right, box.top) > 0 &&
                         map.W(box.left, box.bottom) > 0 && map.W(box.right, box.bottom) > 0)) {
    return {0, 0, 0, 0};
  }
  const double x[4] = {map.X(box.left, box.top), map.X(box.right, box.top),
                       map.X(box.left, box.bottom), map.X(box.right, box.bottom)};
  const double y[4] = {map.Y(box.left, box.top), map.Y(box.right, box.top),
                       map.Y(box.left, box.bottom), map.Y(box.right, box.bottom)};
  return {*std::min_element(x, x + 4), *std::min_element(y, y + 4), *std::max_element(x, x + 4),
          *std::max_element(y, y + 4)};
}

Box CutOff(const Box& box, const Box& at) noexcept {
  return {std::clamp(box.left, at.left, at.right), std::clamp(box.top, at.top, at.bottom),
          std::clamp(box.right, at.left, at.right), std::clamp(box.bottom, at.top, at.bottom)};
}

}  // namespace

Box Seen(const Box& box, const PointMap& map) noexcept {
  const Box seen = CutOff(Moved(box, map.before), map.shown);
  // An empty box stays empty, although a warp would turn a line into a box with an area.
  if (!map.warped || !(Area(seen) > 0)) return seen;
  return CutOff(Moved(seen, map.warp), map.shown_after);
}

PointMap::PointMap(const Frame& frame, std::uint32_t picture_width, std::uint32_t picture_height)
    : map(frame.Map()),
      shown(frame.ShownInTarget()),
      warped(frame.warped),
      before(frame.MapToTarget()),
      shown_after(shown),
      width(picture_width),
      height(picture_height),
      target_width(frame.width()),
      target_height(frame.height()) {
  if (!warped) return;
  warp = frame.warp;
  const PixelRect& part = frame.shown;
  shown_after = {double(part.left), double(part.top), double(part.right), double(part.bottom)};
}

bool PointMap::Shows(double x, double y) const noexcept {
  const auto inside = [](double at, double low, double high) {
    constexpr double kRounding = 1e-6;  // error of the computed place, in pixels
    return high > low && at >= low - kRounding && at <= high + kRounding;
  };
  if (!inside(before.X(x, y), shown.left, shown.right) ||
      !inside(before.Y(x, y), shown.top, shown.bottom)) {
    return false;
  }
  return !warped || (map.W(x, y) > 0 && inside(map.X(x, y), shown_after.left, shown_after.right) &&
                     inside(map.Y(x, y), shown_after.top, shown_after.bottom));
}

template <class T>
void MapBoxes(std::span<T> boxes, const Coordinates& coordinates, const PointMap& map,
              const BoxRule& rule, std::vector<std::uint8_t>& kept,
              std::span<const std::uint8_t> dropped) {
  const bool relative = coordinates.relative;
  kept.assign(boxes.size() / 4, 0);
  for (std::size_t b = 0; b < kept.size(); ++b) {
    T* const at = &boxes[b * 4];
    double values[4];
    for (int v = 0; v < 4; ++v)
      values[v] = double(at[v]) * (!relative ? 1.0 : v % 2 == 0 ? map.width : map.height);
    const Box corners = CornersOf(values, coordinates.form);
    const Box whole = Moved(corners, map.map);
    const Box box = Seen(corners, map);
    // Written so that a box with a NaN is dropped.
    const bool keep = (b >= dropped.size() || dropped[b] == 0) &&
                      box.right - box.left >= rule.min_side &&
                      box.bottom - box.top >= rule.min_side && Area(box) > 0 &&
                      Area(box) >= rule.min_visible * Area(whole);
    kept[b] = keep ? 1 : 0;
    FromCorners(box, coordinates.form, values);
    for (int v = 0; v < 4; ++v) {
      const double extent = !relative    ? 1.0
                            : v % 2 == 0 ? double(map.target_width)
                                         : double(map.target_height);
      at[v] = keep ? static_cast<T>(values[v] / extent) : T{0};
    }
  }
}

template <class T>
void ReadBoxes(std::span<const T> values, const Coordinates& coordinates,
               const PictureExtent& picture, PictureBoxes& boxes) {
  boxes.boxes.clear();
  for (std::size_t at = 0; at + 4 <= values.size(); at += 4) {
    double box[4];
    for (std::size_t v = 0; v < 4; ++v) {
      box[v] = double(values[at + v]) * (!coordinates.relative ? 1.0
                                         : v % 2 == 0          ? picture.width
                                                               : picture.height);
    }
    boxes.boxes.push_back(CornersOf(box, coordinates.form));
  }
  boxes.dropped.assign(boxes.boxes.size(), 0);
}

template <class T>
void MapPoints(std::span<T> entries, const PointShape& shape, const Coordinates& coordinates,
               const PointMap& map) {
  const bool relative = coordinates.relative;
  const double in_x = relative ? map.width : 1, in_y = relative ? map.height : 1;
  const double out_x = relative ? map.target_width : 1, out_y = relative ? map.target_height : 1;
  const bool visible_known = shape.values == 3;
  for (std::size_t p = 0; p + shape.values <= entries.size(); p += shape.values) {
    T* const point = &entries[p];
    if (visible_known && point[2] == T{0}) continue;
    const double x = double(point[0]) * in_x;
    const double y = double(point[1]) * in_y;
    const bool before_viewer = map.map.W(x, y) > 0;
    point[0] = static_cast<T>((before_viewer ? map.map.X(x, y) : -1) / out_x);
    point[1] = static_cast<T>((before_viewer ? map.map.Y(x, y) : -1) / out_y);
    if (visible_known && !map.Shows(x, y)) point[2] = T{0};
  }
  if (!map.mirrored() || shape.pairs.empty()) return;
  const std::size_t entry = shape.points * shape.values;
  for (std::size_t e = 0; e + entry <= entries.size(); e += entry) {
    for (const auto& [a, b] : shape.pairs) {
      std::swap_ranges(&entries[e + a * shape.values],
                       &entries[e + a * shape.values] + shape.values,
                       &entries[e + b * shape.values]);
    }
  }
}

template void MapBoxes(std::span<float>, const Coordinates&, const PointMap&, const BoxRule&,
                       std::vector<std::uint8_t>&, std::span<const std::uint8_t>);
template void MapBoxes(std::span<double>, const Coordinates&, const PointMap&, const BoxRule&,
                       std::vector<std::uint8_t>&, std::span<const std::uint8_t>);
template void ReadBoxes(std::span<const float>, const Coordinates&, const PictureExtent&,
                        PictureBoxes&);
template void ReadBoxes(std::span<const double>, const Coordinates&, const PictureExtent&,
                        PictureBoxes&);
template void MapPoints(std::span<float>, const PointShape&, const Coordinates&, const PointMap&);
template void MapPoints(std::span<double>, const PointShape&, const Coordinates&, const PointMap&);

Region Scaled(const Region& region, std::uint32_t width, std::uint32_t height,
              std::uint32_t to_width, std::uint32_t to_height) {
  const auto scale = [](Span& span, std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    const double factor = double(to) / from;
    const double bound = std::floor(span.bound * factor);
    const double bound_end = std::ceil((double(span.bound) + span.bound_length) * factor);
    span.start = std::max(span.start * factor, bound);
    span.bound = static_cast<std::uint32_t>(bound);
    span.bound_length = static_cast<std::uint32_t>(std::min<double>(bound_end, to) - bound);
    span.length = std::min(span.length * factor, bound + span.bound_length - span.start);
  };
  Region scaled = region;
  scale(scaled.x, width, to_width);
  scale(scaled.y, height, to_height);
  return scaled;
}

}  // namespace sluice
