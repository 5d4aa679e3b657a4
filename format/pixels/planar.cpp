#include "format/pixels/planar.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "format/pixels/border.h"

namespace sluice {

namespace {

constexpr std::size_t kAlignment = 32;

// Grows the buffer if needed; never gives memory back.
void Grow(std::vector<std::uint8_t>& bytes, std::size_t size) {
  if (bytes.size() < size) bytes.resize(size);
}

}  // namespace

std::uint32_t ReductionLog2(const Region& region, std::uint32_t x_factor, std::uint32_t y_factor,
                            std::uint32_t samples_per_pixel) noexcept {
  const double x = region.x.length / region.x.out / x_factor;
  const double y = region.y.length / region.y.out / y_factor;
  const double scale = std::min(x, y) / samples_per_pixel;
  return scale >= 8 ? 3 : scale >= 4 ? 2 : scale >= 2 ? 1 : 0;
}

void PlanarResampler::ResampleColumns(const ColumnPlane& plane, bool mirrored, AxisWeights& x,
                                      AxisWeights& y, Lines& lines) {
  x.Make(set_, plane.x, mirrored);
  y.Make(set_, plane.y, false);
  lines.y = &y;
  const std::uint32_t rows = plane.y.last - plane.y.first;
  const std::size_t columns = AlignUp(plane.x.out, kAlignment);
  const std::size_t column_stride = AlignUp(rows, kAlignment);
  Grow(columns_, columns * column_stride + kernels::kSlack);
  const std::uint8_t* const corner = plane.data +
                                     std::size_t{plane.x.first - plane.left} * plane.stride +
                                     (plane.y.first - plane.top);
  for (std::uint32_t i = 0; i < plane.x.out; ++i) {
    set_.sum_lines(x.Sum(i, corner, plane.stride), rows, columns_.data() + i * column_stride);
  }
  lines.stride = columns;
  Grow(lines.bytes, column_stride * columns + kernels::kSlack);
  set_.transpose(columns_.data(), column_stride, plane.x.out, rows, lines.bytes.data(),
                 lines.stride);
}

const std::uint8_t* PlanarResampler::ResampleRow(const Lines& lines, std::uint32_t row,
                                                 std::size_t width,
                                                 std::vector<std::uint8_t>& out) const {
  set_.sum_lines(lines.y->Sum(row, lines.bytes.data(), lines.stride), width, out.data());
  return out.data();
}

void PlanarResampler::WriteRow(std::uint32_t row, std::uint32_t components, const Region& region,
                               const PixelTarget& target) {
  const std::size_t width = region.x.out;
  const std::size_t at = region.flip ? region.x.target - region.x.at - width : region.x.at;
  const std::size_t pixel = std::size_t{LineOf(region, row)} * region.x.target + at;
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
    // Cr is nearly always sampled as Cb is, and then needs the same weights.
    const bool as_cb = c == 2 && planes[2].x == planes[1].x && planes[2].y == planes[1].y;
    const std::size_t weights = as_cb ? 1 : c;
    ResampleColumns(planes[c], region.flip, x_[weights], y_[weights], lines_[c]);
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
