// The first pass makes all columns of a component, which are then transposed to Lines. The second
// pass makes one row of all components at a time, which WriteLine() converts to RGB at once.
// RunYcc420() may find that each value of halved chroma covers exactly 2 x 2 samples: then
// HalvePlane() takes the place of both passes and rounds as encoders do. Its lines are the output's
// rows already, and Lines::y is null.
// Weights are made in reverse order for a mirrored region, so WriteLine() only chooses where the
// row goes.
#include "format/pixels/planar.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "format/pixels/kept_memory.h"
#include "format/pixels/lines.h"

namespace sluice {

namespace {

constexpr std::size_t kAlignment = 32;

// The span with half as many outputs, rounded up, each of twice the length. If the number of
// outputs is odd, the last one reaches beyond the interval.
Span Halved(const Span& span, bool mirrored) noexcept {
  Span half = span;
  half.out = (span.out + 1) / 2;
  half.length = span.length / span.out * (2.0 * half.out);
  if (mirrored) half.start -= half.length - span.length;
  return half;
}

// Whether each output i covers exactly the samples 2i and 2i + 1.
bool TakesPairs(const ComponentAxis& axis) noexcept {
  return axis.start == 0 && axis.length == 2.0 * axis.out;
}

}  // namespace

std::uint32_t ReductionLog2(const Region& region, std::uint32_t x_factor, std::uint32_t y_factor,
                            std::uint32_t samples_per_pixel) noexcept {
  const double x = region.x.length / region.x.out / x_factor;
  const double y = region.y.length / region.y.out / y_factor;
  const double scale = std::min(x, y) / samples_per_pixel;
  return scale >= 8 ? 3 : scale >= 4 ? 2 : scale >= 2 ? 1 : 0;
}

Region RegionOf(const Region& region, std::uint32_t component,
                const DecodePolicy& policy) noexcept {
  Region own = region;
  if (component > 0 && policy.halved_chroma) {
    own.x = Halved(region.x, region.flip);
    own.y = Halved(region.y, region.flip_y);
    own.filter = Filter::kArea;  // as encoders halve chroma
  }
  return own;
}

void PlanarResampler::ResampleColumns(const ColumnPlane* planes, std::uint32_t component,
                                      bool mirrored) {
  const ColumnPlane& plane = planes[component];
  // Cr is nearly always sampled as Cb is, and then needs the same weights.
  const bool as_cb = component == 2 && planes[2].x == planes[1].x && planes[2].y == planes[1].y;
  AxisWeights& x = x_[as_cb ? 1 : component];
  AxisWeights& y = y_[as_cb ? 1 : component];
  Lines& lines = lines_[component];
  x.Make(set_, plane.x, mirrored);
  y.Make(set_, plane.y, false);
  lines.y = &y;
  const std::uint32_t rows = plane.y.last - plane.y.first;
  const std::size_t stride = GrowColumns(plane.x.out, rows);
  const std::uint8_t* const corner = plane.data +
                                     std::size_t{plane.x.first - plane.left} * plane.stride +
                                     (plane.y.first - plane.top);
  for (std::uint32_t i = 0; i < plane.x.out; ++i) {
    set_.sum_lines(x.Sum(i, corner, plane.stride), rows, columns_.data() + i * stride);
  }
  ToLines(plane.x.out, rows, lines);
  MakeRoom(lines.stride + kernels::kSlack, row_[component]);
}

// Takes means of 2 x 2 samples, rounded up and down alternately, as encoders do: rounding always up
// would shift colours.
void PlanarResampler::HalvePlane(const ColumnPlane& plane, Lines& lines) {
  const std::uint32_t rows = plane.y.out;
  const std::uint32_t pairs = plane.y.last / 2;
  const std::size_t stride = GrowColumns(plane.x.out, rows);
  for (std::uint32_t i = 0; i < plane.x.out; ++i) {
    const std::uint8_t* const a = plane.data + std::size_t{2} * i * plane.stride;
    const std::uint8_t* const b = 2 * i + 1 < plane.x.last ? a + plane.stride : a;
    std::uint8_t* const out = columns_.data() + i * stride;
    const unsigned half = 1 + i % 2;
    for (std::uint32_t j = 0; j < pairs; ++j)
      out[j] =
          static_cast<std::uint8_t>((a[2 * j] + a[2 * j + 1] + b[2 * j] + b[2 * j + 1] + half) / 4);
    if (pairs < rows)
      out[pairs] = static_cast<std::uint8_t>((2 * a[2 * pairs] + 2 * b[2 * pairs] + half) / 4);
  }
  ToLines(plane.x.out, rows, lines);
  lines.y = nullptr;
}

// Makes room for columns; returns the bytes from one to the next.
std::size_t PlanarResampler::GrowColumns(std::uint32_t columns, std::uint32_t rows) {
  const std::size_t stride = AlignUp(rows, kAlignment);
  MakeRoom(AlignUp(columns, kAlignment) * stride + kernels::kSlack, columns_);
  return stride;
}

void PlanarResampler::ToLines(std::uint32_t columns, std::uint32_t rows, Lines& lines) {
  const std::size_t stride = AlignUp(rows, kAlignment);
  lines.stride = AlignUp(columns, kAlignment);
  MakeRoom(stride * lines.stride + kernels::kSlack, lines.bytes);
  set_.transpose(columns_.data(), stride, columns, rows, lines.bytes.data(), lines.stride);
}

const std::uint8_t* PlanarResampler::ResampleLine(const Lines& lines, std::uint32_t row,
                                                  std::size_t width,
                                                  std::vector<std::uint8_t>& out) const {
  if (lines.y == nullptr) return lines.bytes.data() + row * lines.stride;
  set_.sum_lines(lines.y->Sum(row, lines.bytes.data(), lines.stride), width, out.data());
  return out.data();
}

void PlanarResampler::WriteLine(std::uint32_t row, std::uint32_t components, const Region& region,
                                const PixelTarget& target) {
  const std::size_t width = region.x.out;
  const std::size_t at = region.flip ? region.x.target - region.x.at - width : region.x.at;
  const std::size_t pixel = std::size_t{LineOf(region, row)} * region.x.target + at;
  const std::size_t plane_bytes = std::size_t{region.x.target} * region.y.target;
  const std::uint8_t* const y = ResampleLine(lines_[0], row, width, row_[0]);
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
    const std::uint8_t* const cb = ResampleLine(lines_[1], row, width, row_[1]);
    const std::uint8_t* const cr = ResampleLine(lines_[2], row, width, row_[2]);
    if (target.order == PixelOrder::kInterleaved) {
      set_.to_rgb(y, cb, cr, width, target.data + pixel * 3);
      return;
    }
    const std::size_t stride = planes_.size() / 3;
    set_.to_planes(y, cb, cr, width, planes_.data(), stride);
    for (std::size_t c = 0; c < 3; ++c)
      std::memcpy(target.data + c * plane_bytes + pixel, planes_.data() + c * stride, width);
  }
}

void PlanarResampler::Run(const ColumnPlane* planes, std::uint32_t count, const Region& region,
                          const PixelTarget& target) {
  const std::uint32_t components = target.channels == 1 ? 1 : count;
  for (std::uint32_t c = 0; c < components; ++c)
    ResampleColumns(planes, c, region.flip);
  MakeRoom(3 * row_[0].size(), planes_);
  for (std::uint32_t row = 0; row < region.y.out; ++row) {
    WriteLine(row, components, region, target);
  }
}

void PlanarResampler::RunYcc420(const ColumnPlane* planes, const Region& region,
                                std::uint8_t* values) {
  for (std::uint32_t c = 0; c < 3; ++c) {
    if (c > 0 && !region.flip && TakesPairs(planes[c].x) && TakesPairs(planes[c].y)) {
      HalvePlane(planes[c], lines_[c]);
    } else {
      ResampleColumns(planes, c, region.flip);
    }
    const std::size_t width = planes[c].x.out;
    const std::uint32_t height = planes[c].y.out;
    for (std::uint32_t row = 0; row < height; ++row) {
      const std::uint32_t line = region.flip_y ? height - 1 - row : row;
      std::memcpy(values + line * width, ResampleLine(lines_[c], row, width, row_[c]), width);
    }
    values += width * height;
  }
}

}  // namespace sluice
