#include "format/pixels/planar.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sluice {

namespace {

constexpr std::size_t kAlignment = 32;

// Makes room without ever giving memory back.
void Grow(std::vector<std::uint8_t>& bytes, std::size_t size) {
  if (bytes.size() < size) bytes.resize(size);
}

double SupportOf(const ComponentAxis& axis) noexcept {
  return std::max(1.0, axis.length / axis.out);
}

struct Window {
  std::uint32_t first, last;
};

// The whole part of a position, cut to [low, high]. Positions lie within 2^31 of zero.
std::uint32_t WholeWithin(double position, std::uint32_t low, std::uint32_t high) noexcept {
  // Truncation is the floor from zero on, and below zero the result is `low` either way.
  const auto whole = static_cast<std::int64_t>(position);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(whole, low, high));
}

// The samples around a centre whose own centres lie within the filter's support.
Window Around(const ComponentAxis& axis, double centre, double support) noexcept {
  const std::uint32_t first = WholeWithin(centre - support + 0.5, axis.bound, axis.bound_end - 1);
  return {first, WholeWithin(centre + support + 0.5, first + 1, axis.bound_end)};
}

}  // namespace

ComponentAxis MakeComponentAxis(const Span& span, std::uint32_t factor,
                                std::uint32_t size) noexcept {
  ComponentAxis axis;
  axis.start = span.start / factor;
  axis.length = span.length / factor;
  axis.out = span.out;
  axis.bound = std::min(span.bound / factor, size - 1);
  axis.bound_end =
      std::clamp((span.bound + span.bound_length + factor - 1) / factor, axis.bound + 1, size);
  const double scale = axis.length / axis.out;
  const double support = SupportOf(axis);
  axis.first = Around(axis, axis.start + 0.5 * scale, support).first;
  axis.last = Around(axis, axis.start + (axis.out - 0.5) * scale, support).last;
  return axis;
}

std::uint32_t ReductionLog2(const Region& region, std::uint32_t x_factor,
                            std::uint32_t y_factor) noexcept {
  const double x = region.x.length / region.x.out / x_factor;
  const double y = region.y.length / region.y.out / y_factor;
  const double scale = std::min(x, y);
  return scale >= 8 ? 3 : scale >= 4 ? 2 : scale >= 2 ? 1 : 0;
}

void PlanarResampler::MakeWeights(const ComponentAxis& axis, bool mirrored,
                                  Weights& weights) const {
  if (weights.taps != 0 && weights.axis == axis && weights.mirrored == mirrored) return;
  weights.axis = axis;
  weights.mirrored = mirrored;
  kernels::WeightJob job;
  job.start = axis.start;
  job.scale = axis.length / axis.out;
  job.support = SupportOf(axis);
  job.bound = static_cast<std::int32_t>(axis.bound);
  job.bound_end = static_cast<std::int32_t>(axis.bound_end);
  job.first = static_cast<std::int32_t>(axis.first);
  job.extent = static_cast<std::int32_t>(axis.last - axis.first);
  // No more centres than that lie within the support.
  job.taps = weights.taps =
      std::min(static_cast<std::uint32_t>(std::ceil(2 * job.support)), axis.last - axis.first);
  job.out = axis.out;
  job.mirrored = mirrored;
  weights.first.resize(axis.out);
  weights.values.resize(std::size_t{axis.out} * job.taps);
  job.begin = weights.first.data();
  job.values = weights.values.data();
  set_.make_weights(job);
}

void PlanarResampler::ResampleColumns(const ColumnPlane& plane, bool mirrored, Weights& x,
                                      Weights& y, Lines& lines) {
  MakeWeights(plane.x, mirrored, x);
  MakeWeights(plane.y, false, y);
  lines.y = &y;
  const std::uint32_t rows = plane.y.last - plane.y.first;
  const std::size_t columns = AlignUp(plane.x.out, kAlignment);
  const std::size_t column_stride = AlignUp(rows, kAlignment);
  Grow(columns_, columns * column_stride + kernels::kSlack);
  const std::uint8_t* const corner = plane.data +
                                     std::size_t{plane.x.first - plane.left} * plane.stride +
                                     (plane.y.first - plane.top);
  for (std::uint32_t i = 0; i < plane.x.out; ++i) {
    set_.sum_lines({corner + x.first[i] * plane.stride, plane.stride,
                    &x.values[std::size_t{i} * x.taps], x.taps},
                   rows, columns_.data() + i * column_stride);
  }
  lines.stride = columns;
  Grow(lines.bytes, column_stride * columns + kernels::kSlack);
  set_.transpose(columns_.data(), column_stride, plane.x.out, rows, lines.bytes.data(),
                 lines.stride);
}

const std::uint8_t* PlanarResampler::ResampleRow(const Lines& lines, std::uint32_t row,
                                                 std::size_t width,
                                                 std::vector<std::uint8_t>& out) const {
  set_.sum_lines({lines.bytes.data() + lines.y->first[row] * lines.stride, lines.stride,
                  &lines.y->values[std::size_t{row} * lines.y->taps], lines.y->taps},
                 width, out.data());
  return out.data();
}

void PlanarResampler::WriteRow(std::uint32_t row, std::uint32_t components, const Region& region,
                               const PixelTarget& target) {
  const std::size_t width = region.x.out;
  const std::size_t at = region.flip ? region.x.target - region.x.at - width : region.x.at;
  const std::size_t pixel = std::size_t{region.y.at + row} * region.x.target + at;
  const std::size_t plane_bytes = std::size_t{region.x.target} * region.y.target;
  const std::uint8_t* const y = ResampleRow(lines_[0], row, width, row_[0]);
  if (target.channels == 1) {
    std::memcpy(target.data + pixel, y, width);
  } else if (components == 1) {
    for (std::size_t c = 0; c < 3; ++c) {
      if (target.order == PixelOrder::kPlanar) {
        std::memcpy(target.data + c * plane_bytes + pixel, y, width);
      } else {
        for (std::size_t i = 0; i < width; ++i)
          target.data[(pixel + i) * 3 + c] = y[i];
      }
    }
  } else {
    const std::uint8_t* const cb = ResampleRow(lines_[1], row, width, row_[1]);
    const std::uint8_t* const cr = ResampleRow(lines_[2], row, width, row_[2]);
    if (target.order == PixelOrder::kInterleaved) {
      set_.to_rgb(y, cb, cr, width, target.data + pixel * 3);
      return;
    }
    set_.to_planes(y, cb, cr, width, planes_[0].data(), planes_[1].data(), planes_[2].data());
    for (std::size_t c = 0; c < 3; ++c) {
      std::memcpy(target.data + c * plane_bytes + pixel, planes_[c].data(), width);
    }
  }
}

void PlanarResampler::Run(const ColumnPlane* planes, std::uint32_t count, const Region& region,
                          const PixelTarget& target) {
  const std::uint32_t components = target.channels == 1 ? 1 : count;
  const std::size_t row_bytes = AlignUp(region.x.out, kAlignment) + kernels::kSlack;
  for (std::uint32_t c = 0; c < components; ++c) {
    const std::size_t kind = c == 0 ? 0 : 1;
    ResampleColumns(planes[c], region.flip, x_[kind], y_[kind], lines_[c]);
    Grow(row_[c], row_bytes);
    Grow(planes_[c], row_bytes);
  }
  if (region.x.out != region.x.target || region.y.out != region.y.target) {
    std::memset(target.data, 0, std::size_t{region.x.target} * region.y.target * target.channels);
  }
  for (std::uint32_t row = 0; row < region.y.out; ++row) {
    WriteRow(row, components, region, target);
  }
}

}  // namespace sluice
