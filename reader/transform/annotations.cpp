// All calculation is in double, in pixels: relative coordinates are multiplied by the picture's
// size on the way in, and divided by the target's size on the way out. A box becomes two corners,
// is moved and cut off, and takes its own form again. The rule compares the visible area with the
// area of the moved box, so that scaling has no effect on it. Comparisons are written so that a NaN
// drops the box. Pairs of points change places after all points have been moved, and only if the
// map mirrors.
#include "reader/transform/annotations.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice {

namespace {

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

}  // namespace

Box Seen(const Box& box, const PointMap& map) noexcept {
  const Box seen = Moved(box, map.before).CutOff(map.shown);
  // An empty box stays empty, although a warp would turn a line into a box with an area.
  if (!map.warped || !(seen.area() > 0)) return seen;
  return Moved(seen, map.warp).CutOff(map.shown_after);
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

// A corner behind the viewer is not a number, so that nothing of the box is seen.
OrientedBox Moved(const OrientedBox& box, const Projection& map) noexcept {
  OrientedBox moved;
  for (std::size_t i = 0; i < 8; i += 2) {
    const double x = box.xy[i], y = box.xy[i + 1];
    const bool ahead = map.affine() || map.W(x, y) > 0;
    moved.xy[i] = ahead ? map.X(x, y) : std::numeric_limits<double>::quiet_NaN();
    moved.xy[i + 1] = map.Y(x, y);
  }
  return moved;
}

SeenBox Seen(const OrientedBox& box, const PointMap& map) noexcept {
  SeenBox seen = SeenIn(Moved(box, map.before), map.shown);
  if (map.warped && seen.area > 0) {
    seen = SeenIn(Moved(seen.box, map.warp), map.shown_after);
  }
  if (map.mirrored()) seen.box.Reverse();
  return seen;
}

}  // namespace

template <class T>
void MapBoxes(std::span<T> boxes, const Coordinates& coordinates, const PointMap& map,
              const BoxLimits& limits, std::vector<std::uint8_t>& kept) {
  const BoxRule& rule = limits.rule;
  const std::size_t values = coordinates.of_box();
  // Written so that a box with a NaN is dropped.
  const auto keep = [&rule](double width, double height, double seen, double whole) {
    return width >= rule.min_side && height >= rule.min_side && seen > 0 &&
           seen >= rule.min_visible * whole &&
           (!rule.max_aspect ||
            std::max(width, height) <= *rule.max_aspect * std::min(width, height));
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
      const bool anew = rule.from_masks && b < limits.masks.size() && limits.masks[b].drawn;
      const Box box = anew ? limits.masks[b].box : Seen(corners, map);
      keeps = keep(box.right - box.left, box.bottom - box.top, box.area(),
                   Moved(corners, map.map).area());
      if (keeps) SetCorners(box, coordinates, map.target_width, map.target_height, at);
    }
    if (b < limits.dropped.size() && limits.dropped[b] != 0) keeps = false;
    if (b < limits.masks.size() && limits.masks[b].pixels < rule.min_mask) keeps = false;
    kept[b] = keeps ? 1 : 0;
    if (!keeps) std::fill_n(at, values, T{0});
  }
}

template <class T>
std::size_t KeepLargest(std::span<T> boxes, const Coordinates& coordinates, std::uint64_t most,
                        std::vector<std::uint8_t>& kept) {
  const std::size_t values = coordinates.of_box();
  // The size of the target multiplies all areas of relative boxes alike, so it is not needed.
  std::vector<std::pair<double, std::size_t>> smaller_later;
  for (std::size_t b = 0; b < kept.size(); ++b) {
    if (kept[b] == 0) continue;
    const T* const at = &boxes[b * values];
    const double area = coordinates.form == Coordinates::Form::kFourCorners
                            ? OrientedAt(at, coordinates, 1, 1).area()
                            : CornersAt(at, coordinates, 1, 1).area();
    smaller_later.emplace_back(-area, b);
  }
  if (smaller_later.size() <= most) return 0;
  const auto left_out = smaller_later.begin() + static_cast<std::ptrdiff_t>(most);
  std::ranges::nth_element(smaller_later, left_out);
  for (auto at = left_out; at != smaller_later.end(); ++at) {
    kept[at->second] = 0;
    std::fill_n(&boxes[at->second * values], values, T{0});
  }
  return smaller_later.size() - most;
}

template <class T>
void ReadBoxes(std::span<const T> values, const Coordinates& coordinates,
               const PictureExtent& picture, PictureBoxes& boxes) {
  boxes.boxes.clear();
  const double width = picture.width, height = picture.height;
  const std::size_t of_box = coordinates.of_box();
  for (std::size_t at = 0; at + of_box <= values.size(); at += of_box) {
    if (coordinates.form != Coordinates::Form::kFourCorners) {
      boxes.boxes.push_back(CornersAt(&values[at], coordinates, width, height));
      continue;
    }
    const auto& c = OrientedAt(&values[at], coordinates, width, height).xy;
    const auto [left, right] = std::minmax({c[0], c[2], c[4], c[6]});
    const auto [top, bottom] = std::minmax({c[1], c[3], c[5], c[7]});
    boxes.boxes.push_back({left, top, right, bottom});
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

template Box CornersAt(const float*, const Coordinates&, double, double) noexcept;
template Box CornersAt(const double*, const Coordinates&, double, double) noexcept;
template void SetCorners(const Box&, const Coordinates&, double, double, float*) noexcept;
template void SetCorners(const Box&, const Coordinates&, double, double, double*) noexcept;
template OrientedBox OrientedAt(const float*, const Coordinates&, double, double) noexcept;
template OrientedBox OrientedAt(const double*, const Coordinates&, double, double) noexcept;
template void SetOriented(const OrientedBox&, const Coordinates&, double, double, float*) noexcept;
template void SetOriented(const OrientedBox&, const Coordinates&, double, double, double*) noexcept;
template void MapBoxes(std::span<float>, const Coordinates&, const PointMap&, const BoxLimits&,
                       std::vector<std::uint8_t>&);
template void MapBoxes(std::span<double>, const Coordinates&, const PointMap&, const BoxLimits&,
                       std::vector<std::uint8_t>&);
template std::size_t KeepLargest(std::span<float>, const Coordinates&, std::uint64_t,
                                 std::vector<std::uint8_t>&);
template std::size_t KeepLargest(std::span<double>, const Coordinates&, std::uint64_t,
                                 std::vector<std::uint8_t>&);
template void ReadBoxes(std::span<const float>, const Coordinates&, const PictureExtent&,
                        PictureBoxes&);
template void ReadBoxes(std::span<const double>, const Coordinates&, const PictureExtent&,
                        PictureBoxes&);
template void MapPoints(std::span<float>, const PointShape&, const Coordinates&, const PointMap&);
template void MapPoints(std::span<double>, const PointShape&, const Coordinates&, const PointMap&);

ShownMask MaskOf(std::span<const PixelRun> runs, std::uint64_t height) noexcept {
  ShownMask mask;
  if (runs.empty()) return mask;
  std::uint64_t top = height, bottom = 0;
  for (const PixelRun& run : runs) {
    mask.pixels += run.end - run.begin;
    const std::uint64_t first = run.begin % height, end = first + run.end - run.begin;
    // A run may begin in one column and end in a later one.
    top = std::min(top, end > height ? 0 : first);
    bottom = std::max(bottom, std::min(end, height));
  }
  mask.box = {double(runs.front().begin / height), double(top),
              double((runs.back().end - 1) / height + 1), double(bottom)};
  return mask;
}

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
