// A field's coordinates are a text such as "cxcywh-relative". It is read from its end: first the
// unit is taken off with the hyphen before it, and the rest is the form. Only key points may have a
// unit alone.
// A text that this build does not know is not an error here: Coordinates::Of() returns nothing, and
// WhyNotMovable() says why the field cannot follow its image. The last extent of a field's shape
// counts the numbers of a box or point, and the one before it counts the points of an object.
#include "format/boxes_and_points.h"

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
  } else if (boxes ? text != "xyxy" : !text.empty() && text != "xy" && text != "xyv") {
    return std::nullopt;
  }
  return coordinates;
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
  if (field.role == Role::kBoxes) return values == 4 ? "" : "does not hold four numbers to a box";
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
