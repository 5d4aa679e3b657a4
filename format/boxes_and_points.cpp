// A field's coordinates are a text such as "cxcywh-relative". It is read from its end: first the
// unit is taken off with the hyphen before it, and the rest is the form. Only key points may have a
// unit alone.
// A text that this build does not know is not an error here: Coordinates::Of() returns nothing, and
// WhyNotMovable() says why the field cannot follow its image. The last extent of a field's shape
// counts the numbers of a box or point, and the one before it counts the points of an object.
#include "format/boxes_and_points.h"

#include <algorithm>
#include <charconv>

namespace sluice {

namespace {

bool TakeSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  if (text.ends_with('-')) text.remove_suffix(1);
  return true;
}

}  // namespace

bool IsDrawn(const Field& field) noexcept {
  return field.role == Role::kBoxes || field.role == Role::kKeypoints;
}

std::optional<Coordinates> Coordinates::Of(const Field& field) {
  Coordinates coordinates;
  std::string_view text = field.coordinates;
  if (text.empty()) return coordinates;
  coordinates.relative = TakeSuffix(text, "relative");
  if (!coordinates.relative && !TakeSuffix(text, "pixels")) return std::nullopt;
  const bool boxes = field.role == Role::kBoxes;
  if (boxes && text == "xywh") {
    coordinates.form = Form::kCornerSize;
  } else if (boxes && text == "cxcywh") {
    coordinates.form = Form::kCentreSize;
  } else if (boxes && text == "corners") {
    coordinates.form = Form::kFourCorners;
  } else if (boxes ? text != "xyxy" : !text.empty() && text != "xy" && text != "xyv") {
    return std::nullopt;
  }
  return coordinates;
}

double OrientedBox::SignedArea() const noexcept {
  double twice = 0;
  for (std::size_t i = 0; i < 8; i += 2) {
    const std::size_t next = (i + 2) % 8;
    twice += xy[i] * xy[next + 1] - xy[next] * xy[i + 1];
  }
  return twice / 2;
}

std::array<double, 2> OrientedBox::sides() const noexcept {
  const auto length = [this](std::size_t from) {
    const std::size_t a = 2 * from, b = (2 * from + 2) % 8;
    return std::hypot(xy[b] - xy[a], xy[b + 1] - xy[a + 1]);
  };
  return {(length(0) + length(2)) / 2, (length(1) + length(3)) / 2};
}

void OrientedBox::Reverse() noexcept {
  std::swap(xy[2], xy[6]);
  std::swap(xy[3], xy[7]);
}

namespace {

// A convex polygon. Cutting four corners at four edges gives eight at most.
struct Polygon {
  struct Point {
    double x, y;
  };
  std::array<Point, 16> points{};
  std::size_t count = 0;

  void Add(Point point) noexcept {
    if (count < points.size()) points[count++] = point;
  }
  // The part on which `inside(point)`, a distance from an edge, is not negative.
  template <class Inside>
  Polygon Cut(const Inside& inside) const noexcept {
    Polygon cut;
    for (std::size_t i = 0; i < count; ++i) {
      const Point &a = points[i], &b = points[(i + 1) % count];
      const double of_a = inside(a), of_b = inside(b);
      if (of_a >= 0) cut.Add(a);
      if ((of_a >= 0) == (of_b >= 0)) continue;
      const double t = of_a / (of_a - of_b);
      cut.Add({a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)});
    }
    return cut;
  }
  double Area() const noexcept {
    double twice = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Point &a = points[i], &b = points[(i + 1) % count];
      twice += a.x * b.y - b.x * a.y;
    }
    return std::abs(twice) / 2;
  }
};

}  // namespace

SeenBox SeenIn(const OrientedBox& box, double left, double top, double right,
               double bottom) noexcept {
  using Point = Polygon::Point;
  bool cut = false;
  Polygon seen;
  for (std::size_t i = 0; i < 8; i += 2) {
    const Point at{box.xy[i], box.xy[i + 1]};
    if (!std::isfinite(at.x + at.y)) return {box, 0};
    cut = cut || at.x < left || at.x > right || at.y < top || at.y > bottom;
    seen.Add(at);
  }
  if (!cut) return {box, box.area()};
  seen = seen.Cut([=](Point p) { return p.x - left; })
             .Cut([=](Point p) { return right - p.x; })
             .Cut([=](Point p) { return p.y - top; })
             .Cut([=](Point p) { return bottom - p.y; });
  const double area = seen.Area();
  // Along the first side and the third, which are parallel in a rectangle.
  const auto& c = box.xy;
  double ux = c[2] - c[0] + c[4] - c[6], uy = c[3] - c[1] + c[5] - c[7];
  const double length = std::hypot(ux, uy);
  if (!(area > 0) || !(length > 0)) return {box, 0};
  ux /= length;
  uy /= length;
  const double sign = box.SignedArea() < 0 ? -1 : 1;  // the second side turns the same way
  const double vx = -uy * sign, vy = ux * sign;
  double low_u = HUGE_VAL, high_u = -HUGE_VAL, low_v = HUGE_VAL, high_v = -HUGE_VAL;
  for (std::size_t i = 0; i < seen.count; ++i) {
    const Point& p = seen.points[i];
    const double u = p.x * ux + p.y * uy, v = p.x * vx + p.y * vy;
    low_u = std::min(low_u, u);
    high_u = std::max(high_u, u);
    low_v = std::min(low_v, v);
    high_v = std::max(high_v, v);
  }
  SeenBox result{{}, area};
  const std::array<std::pair<double, double>, 4> corners = {
      {{low_u, low_v}, {high_u, low_v}, {high_u, high_v}, {low_u, high_v}}};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto [u, v] = corners[i];
    result.box.xy[2 * i] = u * ux + v * vx;
    result.box.xy[2 * i + 1] = u * uy + v * vy;
  }
  return result;
}

std::optional<FlipPairs> ParseFlipPairs(std::string_view text, std::size_t points) {
  FlipPairs pairs;
  if (text == "none") return pairs;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::size_t a = 0, b = 0;
    const auto first = std::from_chars(at, end, a);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, b);
    if (second.ec != std::errc() || a >= points || b >= points || a == b) return std::nullopt;
    for (const auto& [left, right] : pairs)
      if (left == a || left == b || right == a || right == b) return std::nullopt;
    pairs.emplace_back(a, b);
    at = second.ptr;
    if (at != end && *at++ != ',') return std::nullopt;
  }
  return pairs;
}

// The last extent but one is the number of points of an object.
std::size_t PointsOf(const Field& field) noexcept {
  return field.shape.size() < 2 ? 1 : field.shape[field.shape.size() - 2];
}

std::string WhyNotMovable(const Field& field) {
  if (field.kind == FieldKind::kBytes) return "is stored as bytes";
  if (field.dtype != DType::kFloat32 && field.dtype != DType::kFloat64)
    return "holds " + std::string(NameOf(field.dtype)) + ", not float32 or float64";
  if (!Coordinates::Of(field))
    return "has coordinates \"" + field.coordinates + "\", which this build does not know";
  const std::uint32_t values = field.shape.empty() ? 0 : field.shape.back();
  if (field.role == Role::kBoxes) {
    if (values == Coordinates::Of(field)->of_box()) return "";
    return values == 4 || values == 8
               ? "holds " + std::to_string(values) +
                     " numbers to a box, and its coordinates are \"" + field.coordinates + "\""
               : "does not hold four numbers to a box";
  }
  if (values != 2 && values != 3) return "does not hold two or three numbers to a point";
  const auto pairs = field.attributes.find("flip_pairs");
  if (pairs != field.attributes.end() && !ParseFlipPairs(pairs->second, PointsOf(field)))
    return "has unreadable flip_pairs \"" + pairs->second + "\"";
  return "";
}

bool BelongsToBoxes(const Field& field) noexcept {
  return field.kind == FieldKind::kVariable && field.role != Role::kBoxes &&
         (field.role != Role::kKeypoints || field.shape.size() >= 2);
}

}  // namespace sluice
