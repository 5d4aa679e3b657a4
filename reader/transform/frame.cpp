// Steps do not touch pixels: they change numbers of the frame, and the picture is decoded and
// resampled once, by the final region (a warp is a second pass). A span is counted along the
// picture, and flips and turns are flags of their own. So a crop after a flip is counted from the
// span's other end, and after a turn, width and height change places (Across(), Down()).
//
// A crop keeps the scale: it takes the same share of the span's source, and clamps it so that
// rounding does not lead outside the picture. A flip after a warp is moved before it; Mirror()
// explains how.
#include "reader/transform/frame.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "reader/transform/all_steps.h"
#include "reader/transform/portable_math.h"

namespace sluice {

namespace {

void ResizeSpan(Span& span, std::uint32_t extent) {
  span.out = span.target = extent;
}

// Crops the span to [offset, offset + extent) of its grid; beyond the grid lies border.
void CropSpan(Span& span, std::int64_t offset, std::uint32_t extent, bool mirrored) {
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
void CutSpan(Span& span, std::uint32_t offset, std::uint32_t extent, bool mirrored) {
  CropSpan(span, offset, extent, mirrored);
  const double begin = std::floor(span.start);
  const double end = std::ceil(span.start + span.length);
  span.bound_length =
      static_cast<std::uint32_t>(std::min(end, double(span.bound) + span.bound_length) - begin);
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
  // A second step of the same kind gets other draws than the first. The kind takes the lower four
  // bits.
  const auto use = static_cast<std::uint16_t>(uses_[kind]++ << 4);
  return {draw_seed_, Purpose::kTransform, position_, static_cast<std::uint16_t>(kind | use)};
}

void Framing::Crop(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height) {
  const Region& region = frame_.region;
  CropSpan(Across(), left, width, region.transpose ? region.flip_y : region.flip);
  CropSpan(Down(), top, height, region.transpose ? region.flip : region.flip_y);
}

void Framing::Cut(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height) {
  const Region& region = frame_.region;
  CutSpan(Across(), left, width, region.transpose ? region.flip_y : region.flip);
  CutSpan(Down(), top, height, region.transpose ? region.flip : region.flip_y);
}

void Framing::ResizeTo(std::uint32_t width, std::uint32_t height, Filter filter) noexcept {
  ResizeSpan(Across(), width);
  ResizeSpan(Down(), height);
  frame_.region.filter = filter;
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
  if (across) {
    mirror.xx = -1;
    mirror.x0 = region.width();
  } else {
    mirror.yy = -1;
    mirror.y0 = region.height();
  }
  frame_.warp = mirror * frame_.warp * mirror;
}

void Framing::Transpose() noexcept {
  frame_.region.transpose = !frame_.region.transpose;
  const AffineMap swap{0, 1, 0, 1, 0, 0};
  if (frame_.warped) frame_.warp = swap * frame_.warp * swap;
}

void Framing::Warp(const AffineMap& map, const std::array<std::uint8_t, 3>& fill) noexcept {
  frame_.warped = true;
  frame_.warp = map;
  frame_.warp_fill = fill;
}

void Framing::Apply(const Transform& step) {
  std::visit(
      [this]<class Step>(const Step& op) {
        if constexpr (StepOf<Step>::kKind == StepKind::kGeometric) StepOf<Step>::Take(op, *this);
      },
      step);
}

VisiblePart::VisiblePart(const Frame& frame)
    : width_(frame.region.width()), height_(frame.region.height()), warped_(frame.warped) {
  const Region& region = frame.region;
  const auto axis = [](const Span& span, bool mirrored, std::uint32_t& begin, std::uint32_t& end) {
    begin = mirrored ? span.target - span.at - span.out : span.at;
    end = begin + span.out;
  };
  axis(region.x, region.flip, left_, right_);
  axis(region.y, region.flip_y, top_, bottom_);
  if (region.transpose) {
    std::swap(left_, top_);
    std::swap(right_, bottom_);
  }
  if (warped_) to_source_ = frame.warp.Inverse();
}

void VisiblePart::WriteBorder(std::uint8_t* map) const {
  constexpr std::uint8_t kBorder = 1;
  std::fill_n(map, std::size_t{width_} * height_, kBorder);
  if (left_ == right_) return;
  for (std::size_t y = top_; y < bottom_; ++y)
    std::fill(map + y * width_ + left_, map + y * width_ + right_, std::uint8_t{0});
  if (!warped_) return;
  // The map is warped as the picture was. What the warp leaves empty is border, too.
  std::vector<std::uint8_t> before(map, map + std::size_t{width_} * height_);
  WarpNearest({before.data(), width_, height_, 1}, to_source_, &kBorder, {map, width_, height_, 1});
}

}  // namespace sluice
