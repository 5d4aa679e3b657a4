// The kernel for sums of lines works in steps of kLineStep bytes, but the view's pixels are the
// caller's, and nothing after them may be read. So the first pass uses SumExactly(). The second
// works in buffers of this object, which have room for whole steps, and WriteLine() copies its rows
// to the target.
// A mirrored region is mirrored only once: by the order of the weights if it is resampled, by
// MirrorLine() if it is copied. Therefore WriteLine() for interleaved pixels mirrors, and
// WriteLine() for rows of channels does not.
#include "format/pixels/interleaved.h"

#include <algorithm>
#include <cstring>

#include "format/disk/bytes.h"
#include "format/pixels/lines.h"

namespace sluice {

namespace {

constexpr std::size_t kTile = 16;      // side of the blocks that a transposition works in
constexpr std::size_t kLineStep = 32;  // bytes that a sum of lines makes at a time

// Grows the buffer if needed; never gives memory back.
std::uint8_t* Room(std::vector<std::uint8_t>& bytes, std::size_t size) {
  if (bytes.size() < size + kernels::kSlack) bytes.resize(size + kernels::kSlack);
  return bytes.data();
}

// A weighted sum of lines that reads and writes no byte after `count`.
void SumExactly(const kernels::Kernels& set, const kernels::LineSum& sum, std::size_t count,
                std::vector<std::uint8_t>& scratch, std::uint8_t* out) {
  const std::size_t whole = count / kLineStep * kLineStep;
  if (whole > 0) set.sum_lines(sum, whole, out);
  if (whole == count) return;
  if (whole > 0) {  // one more step, which ends where the lines end
    set.sum_lines({sum.lines + count - kLineStep, sum.stride, sum.weights, sum.taps}, kLineStep,
                  out + count - kLineStep);
    return;
  }
  std::uint8_t* const lines = Room(scratch, (sum.taps + 1) * kLineStep);
  for (std::uint32_t t = 0; t < sum.taps; ++t)
    std::memcpy(lines + t * kLineStep, sum.lines + t * sum.stride, count);
  std::uint8_t* const result = lines + sum.taps * kLineStep;
  set.sum_lines({lines, kLineStep, sum.weights, sum.taps}, kLineStep, result);
  std::memcpy(out, result, count);
}

// The pixel of the target at which a region's row `y` begins.
std::size_t PixelAt(const Region& region, std::uint32_t y) noexcept {
  const std::uint32_t at = region.flip ? region.x.target - region.x.at - region.x.out : region.x.at;
  return std::size_t{LineOf(region, y)} * region.x.target + at;
}

// Copies rows unchanged and in order: all at once if there is nothing between them.
void CopyLines(const std::uint8_t* rows, std::size_t stride, const Region& region,
               const PixelTarget& target) {
  const std::size_t bytes = std::size_t{region.x.out} * target.channels;
  const std::size_t out_stride = std::size_t{region.x.target} * target.channels;
  std::uint8_t* out = target.data + PixelAt(region, 0) * target.channels;
  const bool together = bytes == stride && bytes == out_stride;
  const std::size_t line = together ? bytes * region.y.out : bytes;
  std::size_t count = together ? 1 : region.y.out;
  if (target.read_later) return StreamLines(rows, stride, line, count, out, out_stride);
  for (; count > 0; --count, rows += stride, out += out_stride)
    std::memcpy(out, rows, line);
}

void MirrorLine(const kernels::Kernels& set, const std::uint8_t* in, std::uint32_t pixels,
                std::uint32_t channels, std::uint8_t* out) {
  if (channels == 3) return set.mirror_rgb(in, pixels, out);
  for (std::uint32_t x = 0; x < pixels; ++x) {
    std::memcpy(out + std::size_t{x} * channels, in + std::size_t{pixels - 1 - x} * channels,
                channels);
  }
}

// Splits pixels into a row of each channel. May write up to kernels::kSlack bytes beyond the end of
// each row.
void SplitLine(const kernels::Kernels& set, const std::uint8_t* in, std::uint32_t pixels,
               std::uint32_t channels, std::uint8_t* const* rows) {
  if (channels == 3) return set.split_rgb(in, pixels, rows[0], rows[1], rows[2]);
  for (std::uint32_t c = 0; c < channels; ++c) {
    for (std::uint32_t x = 0; x < pixels; ++x)
      rows[c][x] = in[std::size_t{x} * channels + c];
  }
}

}  // namespace

void InterleavedResampler::WriteLine(const std::uint8_t* row, std::uint32_t y, const Region& region,
                                     const PixelTarget& target) {
  const std::uint32_t channels = target.channels;
  const std::size_t pixel = PixelAt(region, y);
  if (target.order == PixelOrder::kInterleaved || channels == 1) {
    std::uint8_t* const out = target.data + pixel * channels;
    if (region.flip) return MirrorLine(set_, row, region.x.out, channels, out);
    std::memcpy(out, row, std::size_t{region.x.out} * channels);
    return;
  }
  if (region.flip) {
    std::uint8_t* const mirrored = Room(row_, std::size_t{region.x.out} * channels);
    MirrorLine(set_, row, region.x.out, channels, mirrored);
    row = mirrored;
  }
  std::uint8_t* rows[4] = {};
  for (std::uint32_t c = 0; c < channels; ++c)
    rows[c] = Room(parts_[c], region.x.out);
  SplitLine(set_, row, region.x.out, channels, rows);
  WriteLine(rows, y, region, target);
}

void InterleavedResampler::WriteLine(const std::uint8_t* const* rows, std::uint32_t y,
                                     const Region& region, const PixelTarget& target) {
  const std::uint32_t channels = target.channels;
  const std::size_t pixel = PixelAt(region, y);
  const std::uint32_t width = region.x.out;
  if (target.order == PixelOrder::kPlanar || channels == 1) {
    const std::size_t plane = std::size_t{region.x.target} * region.y.target;
    for (std::uint32_t c = 0; c < channels; ++c)
      std::memcpy(target.data + c * plane + pixel, rows[c], width);
    return;
  }
  std::uint8_t* const out = target.data + pixel * channels;
  if (channels == 3) return set_.join_rgb(rows[0], rows[1], rows[2], width, out);
  for (std::uint32_t c = 0; c < channels; ++c) {
    for (std::uint32_t x = 0; x < width; ++x)
      out[std::size_t{x} * channels + c] = rows[c][x];
  }
}

void InterleavedResampler::Copy(const PixelView& view, std::uint32_t left, std::uint32_t top,
                                const Region& region, const PixelTarget& target) {
  const std::uint8_t* row = view.data + top * view.stride + std::size_t{left} * view.channels;
  const bool interleaved = target.order == PixelOrder::kInterleaved || target.channels == 1;
  if (interleaved && !region.flip && !region.flip_y) {
    return CopyLines(row, view.stride, region, target);
  }
  for (std::uint32_t y = 0; y < region.y.out; ++y, row += view.stride)
    WriteLine(row, y, region, target);
}

void InterleavedResampler::ResampleLines(const PixelView& view, const ComponentAxis& x,
                                         const ComponentAxis& y) {
  const std::uint32_t channels = view.channels;
  const std::uint32_t width = x.last - x.first;
  const std::size_t bytes = std::size_t{width} * channels;
  std::uint8_t* const row = Room(row_, bytes);
  const std::uint8_t* const corner =
      view.data + y.first * view.stride + std::size_t{x.first} * channels;
  stride_ = AlignUp(width, kLineStep);
  std::uint8_t* planes[4] = {};
  for (std::uint32_t c = 0; c < channels; ++c)
    planes[c] = Room(planes_[c], AlignUp(y.out, kTile) * stride_);
  for (std::uint32_t i = 0; i < y.out; ++i) {
    SumExactly(set_, y_.Sum(i, corner, view.stride), bytes, sums_, row);
    SplitLine(set_, row, width, channels, planes);
    for (std::uint32_t c = 0; c < channels; ++c)
      planes[c] += stride_;
  }
}

void InterleavedResampler::ResampleChannel(const ComponentAxis& x, std::uint32_t rows,
                                           std::uint32_t channel) {
  const std::uint32_t width = x.last - x.first;
  const std::size_t column_stride = AlignUp(rows, kLineStep);
  std::uint8_t* const columns = Room(columns_, AlignUp(width, kTile) * column_stride);
  std::uint8_t* const sums = Room(sums_, AlignUp(x.out, kTile) * column_stride);
  set_.transpose(planes_[channel].data(), stride_, rows, width, columns, column_stride);
  for (std::uint32_t i = 0; i < x.out; ++i)
    set_.sum_lines(x_.Sum(i, columns, column_stride), rows, sums + i * column_stride);
  const std::size_t out_stride = AlignUp(x.out, kLineStep);
  std::uint8_t* const out = Room(planes_[channel], AlignUp(rows, kTile) * out_stride);
  set_.transpose(sums, column_stride, x.out, rows, out, out_stride);
}

void InterleavedResampler::Resample(const PixelView& view, const ComponentAxis& x,
                                    const ComponentAxis& y, const Region& region,
                                    const PixelTarget& target) {
  x_.Make(set_, x, region.flip);
  y_.Make(set_, y, false);
  ResampleLines(view, x, y);
  for (std::uint32_t c = 0; c < view.channels; ++c)
    ResampleChannel(x, y.out, c);
  const std::size_t stride = AlignUp(x.out, kLineStep);
  for (std::uint32_t i = 0; i < y.out; ++i) {
    const std::uint8_t* rows[4] = {};
    for (std::uint32_t c = 0; c < view.channels; ++c)
      rows[c] = planes_[c].data() + i * stride;
    WriteLine(rows, i, region, target);
  }
}

}  // namespace sluice
