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

// The smallest box around the moved corners. A box whose corners are out of order becomes empty.
Box Moved(const Box& box, const AffineMap& map) noexcept {
  if (!(box.left <= box.right && box.top <= box.bottom)) return {0, 0, 0, 0};
  const double x[4] = {map.X(box.left, box.top), map.X(box.right, box.top),
                       map.X(box.left, box.bottom), map.X(box.right, box.bottom)};
  const double y[4] = {map.Y(box.left, box.top), map.Y(box.right, box.top),
                       map.Y(box.left, box.bottom), map.Y(box.right, box.bottom)};
  return {*std::min_element(x, x + 4), *std::min_element(y, y + 4), *std::max_element(x, x + 4),
          *std::max_element(y, y + 4)};
}

// The part of a box that the target shows.
Box Seen(const Box& box, const PointMap& map) noexcept {
  const Box seen = Moved(box, map.before).CutOff(map.shown);
  // An empty box stays empty, although a warp would turn a line into a box with an area.
  if (!map.warped || !(seen.area() > 0)) return seen;
  return Moved(seen, map.warp).CutOff({0, 0, double(map.target_width), double(map.target_height)});
}

void MapAxis(const Span& span, bool mirrored, double& scale, double& offset, double& low,
             double& high) noexcept {
  low = span.at;
  high = double(span.at) + span.out;
  // If nothing is shown, every point is mapped to -1, outside the target.
  scale = span.out > 0 ? span.out / span.length : 0;
  offset = span.out > 0 ? span.at - span.start * scale : -1;
  if (!mirrored) return;
  scale = -scale;
  offset = span.target - offset;
  std::swap(low, high);
  low = span.target - low;
  high = span.target - high;
}

}  // namespace

PointMap::PointMap(const Frame& frame, std::uint32_t picture_width, std::uint32_t picture_height)
    : warped(frame.warped),
      width(picture_width),
      height(picture_height),
      target_width(frame.region.width()),
      target_height(frame.region.height()) {
  const Region& region = frame.region;
  MapAxis(region.x, region.flip, before.xx, before.x0, shown.left, shown.right);
  MapAxis(region.y, region.flip_y, before.yy, before.y0, shown.top, shown.bottom);
  if (region.transpose) {
    before = AffineMap{0, 1, 0, 1, 0, 0} * before;
    std::swap(shown.left, shown.top);
    std::swap(shown.right, shown.bottom);
  }
  if (warped) warp = frame.warp;
  map = warped ? warp * before : before;
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
  return !warped || (inside(map.X(x, y), 0, target_width) && inside(map.Y(x, y), 0, target_height));
}

template <class T>
Box CornersAt(const T* at, const Coordinates& coordinates, double width, double height) noexcept {
  double v[4];
  for (int i = 0; i < 4; ++i)
    v[i] = double(at[i]) * (!coordinates.relative ? 1.0 : i % 2 == 0 ? width : height);
  switch (coordinates.form) {
    case Coordinates::Form::kCornerSize: return {v[0], v[1], v[0] + v[2], v[1] + v[3]};
    case Coordinates::Form::kCentreSize:
      return {v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2};
    default: return {v[0], v[1], v[2], v[3]};
  }
}

template <class T>
void SetCorners(const Box& box, const Coordinates& coordinates, double width, double height,
                T* at) noexcept {
  double v[4] = {box.left, box.top, box.right, box.bottom};
  if (coordinates.form != Coordinates::Form::kCorners) {
    v[2] -= v[0];
    v[3] -= v[1];
  }
  if (coordinates.form == Coordinates::Form::kCentreSize) {
    v[0] += v[2] / 2;
    v[1] += v[3] / 2;
  }
  for (int i = 0; i < 4; ++i)
    at[i] = static_cast<T>(v[i] / (!coordinates.relative ? 1.0 : i % 2 == 0 ? width : height));
}

template <class T>
OrientedBox OrientedAt(const T* at, const Coordinates& coordinates, double width,
                       double height) noexcept {
  OrientedBox box;
  for (std::size_t i = 0; i < 8; ++i)
    box.xy[i] = double(at[i]) * (!coordinates.relative ? 1.0 : i % 2 == 0 ? width : height);
  return box;
}

template <class T>
void SetOriented(const OrientedBox& box, const Coordinates& coordinates, double width,
                 double height, T* at) noexcept {
  for (std::size_t i = 0; i < 8; ++i) {
    at[i] = static_cast<T>(box.xy[i] / (!coordinates.relative ? 1.0 : i % 2 == 0 ? width : height));
  }
}

namespace {

template <class Map>
OrientedBox Moved(const OrientedBox& box, const Map& map) noexcept {
  OrientedBox moved;
  for (std::size_t i = 0; i < 8; i += 2) {
    moved.xy[i] = map.X(box.xy[i], box.xy[i + 1]);
    moved.xy[i + 1] = map.Y(box.xy[i], box.xy[i + 1]);
  }
  return moved;
}

SeenBox Seen(const OrientedBox& box, const PointMap& map) noexcept {
  SeenBox seen = SeenIn(Moved(box, map.before), map.shown);
  if (map.warped && seen.area > 0) {
    seen = SeenIn(Moved(seen.box, map.warp),
                  {0, 0, double(map.target_width), double(map.target_height)});
  }
  if (map.mirrored()) seen.box.Reverse();
  return seen;
}

}  // namespace

template <class T>
void MapBoxes(std::span<T> boxes, const Coordinates& coordinates, const PointMap& map,
              const BoxRule& rule, std::vector<std::uint8_t>& kept) {
  const std::size_t values = coordinates.of_box();
  // Written so that a box with a NaN is dropped.
  const auto keep = [&rule](double width, double height, double seen, double whole) {
    return width >= rule.min_side && height >= rule.min_side && seen > 0 &&
           seen >= rule.min_visible * whole;
  };
  kept.assign(boxes.size() / values, 0);
  for (std::size_t b = 0; b < kept.size(); ++b) {
    T* const at = &boxes[b * values];
    bool keeps = false;
    if (coordinates.form == Coordinates::Form::kFourCorners) {
      const OrientedBox box = OrientedAt(at, coordinates, map.width, map.height);
      const SeenBox seen = Seen(box, map);
      const auto [width, height] = seen.box.sides();
      keeps = keep(width, height, seen.area, Moved(box, map.map).area());
      if (keeps) SetOriented(seen.box, coordinates, map.target_width, map.target_height, at);
    } else {
      const Box corners = CornersAt(at, coordinates, map.width, map.height);
      const Box box = Seen(corners, map);
      keeps = keep(box.right - box.left, box.bottom - box.top, box.area(),
                   Moved(corners, map.map).area());
      if (keeps) SetCorners(box, coordinates, map.target_width, map.target_height, at);
    }
    kept[b] = keeps ? 1 : 0;
    if (!keeps) std::fill_n(at, values, T{0});
  }
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
    point[0] = static_cast<T>(map.map.X(x, y) / out_x);
    point[1] = static_cast<T>(map.map.Y(x, y) / out_y);
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

template Box CornersAt(const float*, const Coordinates&, double, double) noexcept;
template Box CornersAt(const double*, const Coordinates&, double, double) noexcept;
template void SetCorners(const Box&, const Coordinates&, double, double, float*) noexcept;
template void SetCorners(const Box&, const Coordinates&, double, double, double*) noexcept;
template OrientedBox OrientedAt(const float*, const Coordinates&, double, double) noexcept;
template OrientedBox OrientedAt(const double*, const Coordinates&, double, double) noexcept;
template void SetOriented(const OrientedBox&, const Coordinates&, double, double, float*) noexcept;
template void SetOriented(const OrientedBox&, const Coordinates&, double, double, double*) noexcept;
template void MapBoxes(std::span<float>, const Coordinates&, const PointMap&, const BoxRule&,
                       std::vector<std::uint8_t>&);
template void MapBoxes(std::span<double>, const Coordinates&, const PointMap&, const BoxRule&,
                       std::vector<std::uint8_t>&);
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
