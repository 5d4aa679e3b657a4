// Steps do not touch pixels: they change numbers of the frame, and the picture is decoded and
// resampled once, by the final region (a warp is a second pass). A span is counted along the
// picture, and flips and turns are flags of their own. So a crop after a flip is counted from the
// span's other end, and after a turn, width and height change places (Across(), Down()).
//
// A crop keeps the scale: it takes the same share of the span's source, and clamps it so that
// rounding does not lead outside the picture. A picture inside a border whose scale changes has
// edges between pixels: the span is then made anew from exact edges, rounded to whole pixels, and
// its source interval moves by as much (RoundToPixels()).
//
// A flip after a warp is moved before it; Mirror() explains how. Any other step after a warp
// multiplies the warp's map. A pipeline with such a step, or whose warp has a size of its own, gets
// its region at the end, from the whole map (ChooseRegion()): the part of the picture that the row
// shows, at the scale at which it shows, so that the filter and not the warp makes it smaller.
#include "reader/transform/frame.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "format/pixels/lines.h"
#include "reader/transform/all_steps.h"
#include "reader/transform/annotations.h"
#include "reader/transform/portable_math.h"

namespace sluice {

namespace {

ExactSpan ExactOf(const Span& span, const std::optional<ExactSpan>& exact) noexcept {
  return exact ? *exact : ExactSpan{span.start, span.length, double(span.at), double(span.out)};
}

// Gives the span the exact one's edges in whole pixels. The source interval moves with them, but
// not beyond what is visible.
void RoundToPixels(const ExactSpan& exact, Span& span) noexcept {
  double begin = std::floor(exact.at + 0.5), end = std::floor(exact.at + exact.out + 0.5);
  if (end <= begin) {  // less than a pixel shows, and gets one
    begin = std::min(std::floor(exact.at + exact.out / 2), double(span.target) - 1);
    end = begin + 1;
  }
  const double scale = exact.length / exact.out;
  const auto source = [&](double at) {
    return std::clamp(exact.start + (at - exact.at) * scale, exact.start,
                      exact.start + exact.length);
  };
  span.at = static_cast<std::uint32_t>(begin);
  span.out = static_cast<std::uint32_t>(end - begin);
  span.start = source(begin);
  // Rounding must not lead out of the picture.
  span.length =
      std::min(source(end) - span.start, span.bound + double(span.bound_length) - span.start);
}

// Scales and shifts the span's grid, and cuts it to a new one of `extent` pixels.
void MoveSpan(Span& span, std::optional<ExactSpan>& exact, double scale, double shift,
              std::uint32_t extent, bool mirrored) noexcept {
  if (mirrored) shift = extent - shift - scale * span.target;
  span.target = extent;
  if (span.out == 0) return;
  ExactSpan moved = ExactOf(span, exact);
  const double source = moved.length / (moved.out * scale);
  const double first = moved.at * scale + shift, last = first + moved.out * scale;
  const double begin = std::max(first, 0.0), end = std::min(last, double(extent));
  if (!(begin < end)) {  // only border
    span.out = span.at = 0;
    exact.reset();
    return;
  }
  if (begin != first || end != last) {
    moved.start += (begin - first) * source;
    moved.length = (end - begin) * source;
  }
  moved.at = begin;
  moved.out = end - begin;
  exact = moved;
  RoundToPixels(moved, span);
}

void ResizeSpan(Span& span, std::optional<ExactSpan>& exact, std::uint32_t extent) {
  if (span.out == span.target && !exact) {
    span.out = span.target = extent;
  } else {
    MoveSpan(span, exact, double(extent) / span.target, 0, extent, false);
  }
}

// Crops the span to [offset, offset + extent) of its grid; beyond the grid lies border.
void CropSpan(Span& span, std::optional<ExactSpan>& exact, std::int64_t offset,
              std::uint32_t extent, bool mirrored) {
  if (exact) return MoveSpan(span, exact, 1, -static_cast<double>(offset), extent, mirrored);
  if (mirrored) offset = std::int64_t{span.target} - offset - extent;
  const std::int64_t begin = std::max<std::int64_t>(span.at, offset);
  const std::int64_t end =
      std::min<std::int64_t>(std::int64_t{span.at} + span.out, offset + extent);
  span.target = extent;
  if (end <= begin) {  // only padding
    span.out = span.at = 0;
    return;
  }
  if (static_cast<std::uint32_t>(end - begin) != span.out) {
    const double scale = span.length / span.out;
    span.start += static_cast<double>(begin - span.at) * scale;
    span.length = static_cast<double>(end - begin) * scale;
    // Rounding must not lead out of the picture.
    span.length = std::min(span.length, span.bound + double(span.bound_length) - span.start);
  }
  span.out = static_cast<std::uint32_t>(end - begin);
  span.at = static_cast<std::uint32_t>(begin - offset);
}

// Like CropSpan(), but the filter does not see pixels outside the crop, as if the picture ended at
// the crop's edges.
void CutSpan(Span& span, std::optional<ExactSpan>& exact, std::int64_t offset, std::uint32_t extent,
             bool mirrored) {
  CropSpan(span, exact, offset, extent, mirrored);
  double first = span.start, last = span.start + span.length;
  if (exact) {  // a later resize moves this one, which may reach a little further
    first = std::min(first, exact->start);
    last = std::max(last, exact->start + exact->length);
  }
  const double begin = std::max(std::floor(first), double(span.bound));
  const double end = std::min(std::ceil(last), double(span.bound) + span.bound_length);
  span.bound_length = static_cast<std::uint32_t>(end - begin);
  span.bound = static_cast<std::uint32_t>(begin);
}

}  // namespace

AffineMap AffineAbout(std::uint32_t width, std::uint32_t height,
                      const AffineParameters& drawn) noexcept {
  constexpr double kRadians = 3.14159265358979323846 / 180;
  const double rotation = drawn.degrees * kRadians, scale = drawn.scale;
  const double shear_x = drawn.shear_x * kRadians, shear_y = drawn.shear_y * kRadians;
  const double shear_sine = PortableSin(shear_y), shear_cosine = PortableCos(shear_y);
  const double tangent_x = PortableSin(shear_x) / PortableCos(shear_x);
  const double sine = PortableSin(rotation), cosine = PortableCos(rotation);
  // The cosine (a) and the sine (c) of the angle (rotation - shear_y), each divided by the cosine
  // of shear_y, as in torchvision's matrix.
  const double a = (cosine * shear_cosine + sine * shear_sine) / shear_cosine;
  const double c = (sine * shear_cosine - cosine * shear_sine) / shear_cosine;
  AffineMap map{scale * a, scale * (-a * tangent_x - sine),   0,
                scale * c, scale * (-c * tangent_x + cosine), 0};
  const double x = width * 0.5, y = height * 0.5;
  map.x0 = x + drawn.shift_x - (map.xx * x + map.xy * y);
  map.y0 = y + drawn.shift_y - (map.yx * x + map.yy * y);
  return map;
}

RandomStream Framing::DrawsOf(std::uint16_t kind) noexcept {
  // A second step of the same kind gets other draws than the first, and so does another part of the
  // row. The kind takes the lower four bits, and the use eight more: a pipeline has at most 256
  // steps.
  const auto use = static_cast<std::uint16_t>(uses_[kind]++ << 4);
  const auto part = static_cast<std::uint16_t>(draws_for_row_ ? 0 : part_ << 12);
  return {draw_seed_, Purpose::kTransform, position_,
          static_cast<std::uint16_t>(kind | use | part)};
}

void Framing::Crop(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height) {
  if (frame_.warped)
    return MoveWarped(1, -static_cast<double>(left), 1, -static_cast<double>(top), {width, height});
  const auto crop = [](const Axis& axis, std::int64_t offset, std::uint32_t extent) {
    CropSpan(axis.span, axis.exact, offset, extent, axis.mirrored);
  };
  crop(Across(), left, width);
  crop(Down(), top, height);
}

void Framing::Cut(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height) {
  if (frame_.warped) return Crop(left, top, width, height);
  const auto cut = [](const Axis& axis, std::int64_t offset, std::uint32_t extent) {
    CutSpan(axis.span, axis.exact, offset, extent, axis.mirrored);
  };
  cut(Across(), left, width);
  cut(Down(), top, height);
}

void Framing::ResizeTo(std::uint32_t width, std::uint32_t height, Filter filter) noexcept {
  frame_.region.filter = filter;
  if (frame_.warped) {
    return MoveWarped(double(width) / this->width(), 0, double(height) / this->height(), 0,
                      {width, height});
  }
  const Axis across = Across(), down = Down();
  ResizeSpan(across.span, across.exact, width);
  ResizeSpan(down.span, down.exact, height);
}

void Framing::MoveWarped(double scale_x, double shift_x, double scale_y, double shift_y,
                         const PictureExtent& size) noexcept {
  frame_.warp = Projection(AffineMap{scale_x, 0, shift_x, 0, scale_y, shift_y}) * frame_.warp;
  const auto moved = [](std::uint32_t edge, double scale, double shift, std::uint32_t extent) {
    return static_cast<std::uint32_t>(
        std::clamp(std::floor(edge * scale + shift + 0.5), 0.0, double(extent)));
  };
  PixelRect& shown = frame_.shown;
  shown = {moved(shown.left, scale_x, shift_x, size.width),
           moved(shown.top, scale_y, shift_y, size.height),
           moved(shown.right, scale_x, shift_x, size.width),
           moved(shown.bottom, scale_y, shift_y, size.height)};
  frame_.size = size;
  moved_after_warp_ = true;
}

void Framing::SetBorder(Border border, const std::array<std::uint8_t, 3>& fill) noexcept {
  frame_.region.reflect = border == Border::kReflect;
  frame_.region.fill = fill;
}

// A warp W runs after the region's flips. So a flip D that follows the warp becomes one of the
// region's flips, and the warp changes: D W = (D W D') D, where D' is the inverse of D, which for a
// flip is D itself.
void Framing::Mirror(bool across) noexcept {
  Region& region = frame_.region;
  bool& flip = across != region.transpose ? region.flip : region.flip_y;
  flip = !flip;
  if (!frame_.warped) return;
  AffineMap mirror;
  AffineMap before = mirror;
  PixelRect& shown = frame_.shown;
  if (across) {
    mirror.xx = before.xx = -1;
    mirror.x0 = frame_.size.width;
    before.x0 = region.width();
    shown = {frame_.size.width - shown.right, shown.top, frame_.size.width - shown.left,
             shown.bottom};
  } else {
    mirror.yy = before.yy = -1;
    mirror.y0 = frame_.size.height;
    before.y0 = region.height();
    shown = {shown.left, frame_.size.height - shown.bottom, shown.right,
             frame_.size.height - shown.top};
  }
  frame_.warp = Projection(mirror) * frame_.warp * Projection(before);
}

void Framing::Transpose() noexcept {
  frame_.region.transpose = !frame_.region.transpose;
  if (!frame_.warped) return;
  const Projection swap(AffineMap{0, 1, 0, 1, 0, 0});
  frame_.warp = swap * frame_.warp * swap;
  PixelRect& shown = frame_.shown;
  shown = {shown.top, shown.left, shown.bottom, shown.right};
  std::swap(frame_.size.width, frame_.size.height);
}

void Framing::Warp(const AffineMap& map, const std::array<std::uint8_t, 3>& fill) noexcept {
  if (frame_.warped) return WarpTo(map, {width(), height()}, fill);
  frame_.size = {width(), height()};
  frame_.shown = {0, 0, width(), height()};
  frame_.warped = true;
  frame_.warp = map;
  frame_.warp_fill = fill;
}

void Framing::WarpTo(const Projection& map, const PictureExtent& size,
                     const std::array<std::uint8_t, 3>& fill) noexcept {
  const bool upright = map.affine() && map.xy == 0 && map.yx == 0 && map.xx > 0 && map.yy > 0;
  if (!frame_.warped && upright) {
    const auto move = [](const Axis& axis, double scale, double shift, std::uint32_t extent) {
      MoveSpan(axis.span, axis.exact, scale, shift, extent, axis.mirrored);
    };
    move(Across(), map.xx, map.x0, size.width);
    move(Down(), map.yy, map.y0, size.height);
    return SetBorder(Border::kConstant, fill);
  }
  frame_.warp = frame_.warped ? map * frame_.warp : map;
  frame_.warped = moved_after_warp_ = true;
  frame_.warp_fill = fill;
  frame_.size = size;
  frame_.shown = {0, 0, size.width, size.height};
}

void Framing::Hide() noexcept {
  const PictureExtent size{width(), height()};
  const std::array<std::uint8_t, 3> fill = frame_.warped ? frame_.warp_fill : frame_.region.fill;
  Region& region = frame_.region;
  const auto hide = [](Span& span, std::uint32_t extent) {
    span.out = span.at = 0;
    span.target = extent;
  };
  hide(region.x, size.width);
  hide(region.y, size.height);
  region.flip = region.flip_y = region.transpose = region.reflect = false;
  region.fill = fill;
  frame_.exact_x.reset();
  frame_.exact_y.reset();
  frame_.warped = false;
}

void Framing::Finish() {
  if (frame_.warped && (moved_after_warp_ || in_canvas_)) ChooseRegion();
  if (in_canvas_) PlacePart();
}

void Framing::BeginCanvas(const std::array<std::uint8_t, 3>& fill) noexcept {
  const Filter filter = frame_.region.filter;
  const PictureExtent size{width(), height()};
  in_canvas_ = std::exchange(frame_, {});
  frame_.region = Region::Whole(size.width, size.height);
  frame_.region.filter = filter;
  SetBorder(Border::kConstant, fill);
}

namespace {

// Along one axis of the canvas: where it is in the target, and what of it the target shows.
struct CanvasAxis {
  double scale = 0, offset = 0;  // from the canvas to the target
  double low = 0, high = 0;      // of the canvas
  std::uint32_t extent = 0, target = 0;
};

CanvasAxis CanvasAxisOf(const Span& span, const std::optional<ExactSpan>& exact,
                        std::uint32_t extent) noexcept {
  const ExactSpan of = ExactOf(span, exact);
  if (span.out == 0) return {0, 0, 0, 0, extent, span.target};
  const double scale = of.out / of.length;
  return {scale, of.at - of.start * scale, of.start, of.start + of.length, extent, span.target};
}

// Puts a span of a picture, whose grid is the canvas, into the target. `mirrored`: in the canvas.
void PlaceSpan(const CanvasAxis& canvas, bool mirrored, Span& span,
               std::optional<ExactSpan>& exact) noexcept {
  const ExactSpan of = ExactOf(span, exact);
  const bool hidden = span.out == 0;
  exact.reset();
  span.at = span.out = 0;
  span.target = canvas.target;
  const double first = mirrored ? canvas.extent - of.at - of.out : of.at;
  const double low = std::max(first, canvas.low);
  const double high = std::min(first + of.out, canvas.high);
  if (hidden || !(low < high)) return;
  const auto place = [&canvas](double at) { return at * canvas.scale + canvas.offset; };
  const auto pixel = [&canvas, &place](double at) {
    return std::clamp(std::floor(place(at) + 0.5), 0.0, double(canvas.target));
  };
  const double begin = pixel(low), end = pixel(high);
  if (!(begin < end)) return;  // less than a pixel shows: another part has it
  // The source pixel at a place of the target, no further than what is visible.
  const double source = of.length / of.out;
  const double begin_source = of.start + (mirrored ? first + of.out - high : low - first) * source;
  const double end_source = begin_source + (high - low) * source;
  const double scale = source / canvas.scale;
  const auto from = [&](double at) {
    return std::clamp(mirrored ? end_source - (at - place(low)) * scale
                               : begin_source + (at - place(low)) * scale,
                      begin_source, end_source);
  };
  const double target = canvas.target;
  const double first_place = std::max(place(low), 0.0), last_place = std::min(place(high), target);
  exact = ExactSpan{begin_source, end_source - begin_source,
                    mirrored ? target - last_place : first_place, last_place - first_place};
  span.at = static_cast<std::uint32_t>(mirrored ? target - end : begin);
  span.out = static_cast<std::uint32_t>(end - begin);
  span.start = mirrored ? from(end) : from(begin);
  // Rounding must not lead out of the picture.
  span.length = std::min((mirrored ? from(begin) : from(end)) - span.start,
                         span.bound + double(span.bound_length) - span.start);
}

}  // namespace

void Framing::PlacePart() noexcept {
  const Frame canvas = std::exchange(frame_, *in_canvas_);
  const Region& of = canvas.region;
  const std::uint32_t width = frame_.width(), height = frame_.height();  // of the canvas
  const CanvasAxis across = CanvasAxisOf(of.x, canvas.exact_x, width);
  const CanvasAxis down = CanvasAxisOf(of.y, canvas.exact_y, height);
  Region& region = frame_.region;
  const ExactSpan x = ExactOf(region.x, frame_.exact_x), y = ExactOf(region.y, frame_.exact_y);
  const bool turned = region.transpose;
  PlaceSpan(turned ? down : across, region.flip, region.x, frame_.exact_x);
  PlaceSpan(turned ? across : down, region.flip_y, region.y, frame_.exact_y);
  if (region.x.out == 0 || region.y.out == 0) region.x.out = region.y.out = 0;
  region.flip = region.flip != (turned ? of.flip_y : of.flip);
  region.flip_y = region.flip_y != (turned ? of.flip : of.flip_y);
  region.transpose = turned != of.transpose;
  region.reflect = false;
  region.fill = of.fill;
  region.filter = of.filter;
  frame_.warped = canvas.warped;
  frame_.warp = canvas.warp;
  frame_.warp_fill = canvas.warp_fill;
  frame_.size = canvas.size;
  frame_.shown = canvas.shown;
  frame_.region_for_warp = canvas.region_for_warp;
  frame_.before_warp = {x.start, y.start, x.start + x.length, y.start + y.length};
}

namespace {

struct Place {
  double x = 0, y = 0;
};

// The corners of a rectangle and its centre.
std::array<Place, 5> PlacesOf(const Box& box) noexcept {
  return {{{box.left, box.top},
           {box.right, box.top},
           {box.left, box.bottom},
           {box.right, box.bottom},
           {(box.left + box.right) / 2, (box.top + box.bottom) / 2}}};
}

// How much larger than in the picture a row shows a part of it, along each axis of the picture: at
// the place of the part where that is most.
Place LargestScale(const Projection& to_row, const Box& part) noexcept {
  Place scale;
  for (const auto& [x, y] : PlacesOf(part)) {
    const double w = to_row.W(x, y);
    if (!(w > 0)) continue;
    const double at_x = to_row.X(x, y), at_y = to_row.Y(x, y);
    const auto length = [w](double a, double b) { return std::sqrt(a * a + b * b) / w; };
    scale.x = std::max(scale.x, length(to_row.xx - at_x * to_row.wx, to_row.yx - at_y * to_row.wx));
    scale.y = std::max(scale.y, length(to_row.xy - at_x * to_row.wy, to_row.yy - at_y * to_row.wy));
  }
  return scale;
}

}  // namespace

// The region becomes the part of the picture that the row shows, upright and without a border, with
// one pixel for each pixel of the row, or for each of the picture if these are fewer.
void Framing::ChooseRegion() noexcept {
  Region& region = frame_.region;
  const PixelRect& shown = frame_.shown;
  constexpr double kFar = 1 << 30;  // pixels; no place of a warp may lie farther away
  if (region.x.out == 0 || region.y.out == 0 || shown.left >= shown.right ||
      shown.top >= shown.bottom) {
    return Hide();
  }
  const Projection to_row = frame_.Map();
  const Projection to_picture = to_row.Inverse();
  const ExactSpan x = ExactOf(region.x, frame_.exact_x), y = ExactOf(region.y, frame_.exact_y);
  const Box visible{x.start, y.start, x.start + x.length, y.start + y.length};
  Box part = visible;
  // The part of the picture that the row shows, if all of it lies in front of the viewer.
  Box seen{kFar, kFar, -kFar, -kFar};
  bool bounded = true;
  for (const auto& [at_x, at_y] : PlacesOf(
           {double(shown.left), double(shown.top), double(shown.right), double(shown.bottom)})) {
    const double from_x = to_picture.X(at_x, at_y), from_y = to_picture.Y(at_x, at_y);
    const bool near = std::abs(from_x) < kFar && std::abs(from_y) < kFar;  // false for NaN
    if (!near && to_picture.affine()) return Hide();
    bounded = bounded && near && to_picture.W(at_x, at_y) > 0;
    seen = {std::min(seen.left, from_x), std::min(seen.top, from_y), std::max(seen.right, from_x),
            std::max(seen.bottom, from_y)};
  }
  const auto cut = [&](double margin_x, double margin_y) {
    part = {std::max(part.left, std::floor(seen.left - margin_x)),
            std::max(part.top, std::floor(seen.top - margin_y)),
            std::min(part.right, std::ceil(seen.right + margin_x)),
            std::min(part.bottom, std::ceil(seen.bottom + margin_y))};
  };
  if (bounded) cut(0, 0);
  if (!(part.left < part.right && part.top < part.bottom)) return Hide();
  const Place scale = LargestScale(to_row, part);
  if (!(scale.x > 0 && scale.y > 0)) return Hide();
  if (bounded) {
    part = visible;
    cut(2 / std::min(scale.x, 1.0), 2 / std::min(scale.y, 1.0));  // for the warp's neighbours
  }
  const auto choose = [](Span& span, double begin, double end, double largest) {
    constexpr double kRounding = 1e-9;
    span.start = begin;
    span.length = end - begin;
    const double pixels = std::ceil(span.length * std::min(largest, 1.0) - kRounding);
    span.out = span.target = static_cast<std::uint32_t>(std::max(pixels, 1.0));
    span.at = 0;
  };
  choose(region.x, part.left, part.right, scale.x);
  choose(region.y, part.top, part.bottom, scale.y);
  region.flip = region.flip_y = region.transpose = region.reflect = false;
  region.fill = frame_.warp_fill;
  frame_.exact_x.reset();
  frame_.exact_y.reset();
  frame_.region_for_warp = true;
  frame_.before_warp = visible;
  const double pixel_x = region.x.length / region.x.out, pixel_y = region.y.length / region.y.out;
  frame_.warp =
      to_row * Projection(AffineMap{pixel_x, 0, region.x.start, 0, pixel_y, region.y.start});
}

std::vector<Framing::SeenBox> Framing::Boxes() const {
  std::vector<SeenBox> seen;
  if (boxes_ == nullptr) return seen;
  const PointMap map(frame_, 0, 0);
  for (std::size_t b = 0; b < boxes_->boxes.size(); ++b) {
    if (boxes_->dropped[b] != 0) continue;
    const Box box = Seen(boxes_->boxes[b], map);
    if (box.left < box.right && box.top < box.bottom) seen.push_back({b, box});
  }
  return seen;
}

namespace {

struct AxisMap {
  double scale, offset, low, high;
};

AxisMap MapOfAxis(const Span& span, const std::optional<ExactSpan>& exact, bool mirrored) noexcept {
  const ExactSpan of = ExactOf(span, exact);
  AxisMap map{};
  map.low = of.at;
  map.high = of.at + of.out;
  map.scale = span.out > 0 ? of.out / of.length : 0;
  map.offset = span.out > 0 ? of.at - of.start * map.scale : -1;
  if (!mirrored) return map;
  map.scale = -map.scale;
  map.offset = span.target - map.offset;
  std::swap(map.low, map.high);
  map.low = span.target - map.low;
  map.high = span.target - map.high;
  return map;
}

}  // namespace

AffineMap Frame::MapToTarget() const noexcept {
  const AxisMap x = MapOfAxis(region.x, exact_x, region.flip);
  const AxisMap y = MapOfAxis(region.y, exact_y, region.flip_y);
  const AffineMap map{x.scale, 0, x.offset, 0, y.scale, y.offset};
  return region.transpose ? AffineMap{0, 1, 0, 1, 0, 0} * map : map;
}

Box Frame::ShownInTarget() const noexcept {
  if (region_for_warp) {
    const AffineMap map = MapToTarget();
    return {map.X(before_warp.left, 0), map.Y(0, before_warp.top), map.X(before_warp.right, 0),
            map.Y(0, before_warp.bottom)};
  }
  const AxisMap x = MapOfAxis(region.x, exact_x, region.flip);
  const AxisMap y = MapOfAxis(region.y, exact_y, region.flip_y);
  return region.transpose ? Box{y.low, x.low, y.high, x.high} : Box{x.low, y.low, x.high, y.high};
}

void Framing::Apply(const Transform& step) {
  std::visit(
      [this]<class Step>(const Step& op) {
        if constexpr (StepOf<Step>::kKind == StepKind::kGeometric) StepOf<Step>::Take(op, *this);
      },
      step);
}

VisiblePart::VisiblePart(const Frame& frame)
    : width_(frame.width()),
      height_(frame.height()),
      target_width_(frame.region.width()),
      target_height_(frame.region.height()),
      shown_(frame.shown),
      warped_(frame.warped) {
  parts_.front() = ShownOf(frame.region);
  if (warped_) to_source_ = frame.warp.Inverse();
}

void VisiblePart::Add(const Frame& frame) noexcept {
  const auto empty = [](const PixelRect& part) { return part.left == part.right; };
  const auto room = std::ranges::find_if(parts_, empty);
  if (room != parts_.end()) *room = ShownOf(frame.region);
}

void VisiblePart::WriteBorder(std::uint8_t* map) const {
  constexpr std::uint8_t kBorder = 1;
  std::fill_n(map, std::size_t{width_} * height_, kBorder);
  std::vector<std::uint8_t> before;
  if (warped_) before.assign(std::size_t{target_width_} * target_height_, kBorder);
  std::uint8_t* const target = warped_ ? before.data() : map;
  for (const PixelRect& part : parts_) {
    for (std::size_t y = part.top; y < part.bottom; ++y) {
      std::uint8_t* const line = target + y * target_width_;
      std::fill(line + part.left, line + part.right, std::uint8_t{0});
    }
  }
  if (!warped_) return;
  // The map is warped as the picture was. What the warp leaves empty is border, too.
  const Pixels out{map, width_, height_, 1};
  WarpNearest({target, target_width_, target_height_, 1}, to_source_, &kBorder, out);
  FillOutside({&shown_, 1}, out, &kBorder);
}

}  // namespace sluice
