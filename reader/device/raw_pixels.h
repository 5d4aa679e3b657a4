// Turns raw pictures into the pixels of an image: copies or resamples them, and makes the border
// around them. Each thread of a device makes some pixels, one at a time. The arithmetic is the
// host's (format/pixels/interleaved.h): first sums down columns, each rounded to 8 bits, then sums
// of these along lines. C++17: nvcc compiles this.
#pragma once

#include "reader/device/axis_weights.h"
#include "reader/device/jpeg_job.h"
#include "reader/device/jpeg_pixels.h"

namespace sluice {

namespace on_device {

// The place in [0, count) from which `place` gets its value: `place` itself or, if that lies
// outside, its mirror image, as in FillBorder() of format/pixels/lines.h.
SLUICE_ON_DEVICE inline std::uint32_t MirroredInto(std::int64_t place, std::uint32_t count) {
  if (count == 1) return 0;
  const std::int64_t period = 2 * (std::int64_t{count} - 1);
  std::int64_t offset = place % period;
  if (offset < 0) offset += period;
  return static_cast<std::uint32_t>(offset < period - offset ? offset : period - offset);
}

// The values of the picture from which one output of an axis is made: the first value, their
// number, and their weights; no weights if the value is copied.
struct RawTaps {
  std::uint32_t first = 0, count = 1;
  const std::uint16_t* weights = nullptr;
};
SLUICE_ON_DEVICE inline RawTaps TapsOf(const JpegJob& job, const JpegPicture& picture,
                                       const JpegAxis& axis, std::uint32_t at) {
  const std::uint32_t taps = axis.rule.taps;
  if (taps == 0) return {axis.first + at, 1, nullptr};
  const std::uint16_t* const begins = BeginsOf(job, picture, axis);
  return {axis.first + begins[at], taps, begins + axis.rule.out + std::uint64_t{at} * taps};
}

// Returns the value of one channel of one pixel. `pixel`: that channel in the picture's first
// pixel.
SLUICE_ON_DEVICE inline std::uint8_t RawValue(const std::uint8_t* pixel, std::uint32_t channels,
                                              std::uint32_t width, const RawTaps& x,
                                              const RawTaps& y) {
  const std::uint64_t stride = std::uint64_t{width} * channels;
  const std::uint8_t* column = pixel + y.first * stride + std::uint64_t{x.first} * channels;
  if (x.weights == nullptr) return *column;
  // `of_lines` adds the values of y.count lines, down one column; then `of_columns` adds those sums
  // of x.count columns.
  const TapSum of_columns(x.count), of_lines(y.count);
  std::uint32_t across = of_columns.first;
  for (std::uint32_t s = 0; s < x.count; ++s, column += channels) {
    std::uint32_t down = of_lines.first;
    const std::uint8_t* value = column;
    for (std::uint32_t t = 0; t < y.count; ++t, value += stride)
      down += of_lines.Weighted(*value, y.weights[t]);
    across += of_columns.Weighted(of_lines.End(down), x.weights[s]);
  }
  return static_cast<std::uint8_t>(of_columns.End(across));
}

}  // namespace on_device

// Makes a thread's share of a raw picture's image: that of thread number `thread` out of `threads`.
SLUICE_ON_DEVICE inline void MakeRawPixels(const JpegJob& job, const JpegWave& wave,
                                           std::uint32_t number, std::uint32_t thread,
                                           std::uint32_t threads) {
  const JpegPicture& picture = job.pictures[number];
  const RawPicture& raw = picture.raw;
  const auto* const pixels = reinterpret_cast<const std::uint8_t*>(picture.stored);
  const std::uint64_t size = std::uint64_t{wave.width} * wave.height;
  std::uint8_t* const to = wave.to + (number - wave.first_picture) * size * job.channels;
  for (std::uint64_t p = thread; p < size; p += threads) {
    const std::int64_t line = static_cast<std::int64_t>(p / wave.width) - raw.top;
    const std::int64_t place = static_cast<std::int64_t>(p % wave.width) - raw.left;
    const bool inside = line >= 0 && line < raw.lines && place >= 0 && place < raw.columns;
    const bool shown = inside || raw.reflect;
    std::uint32_t y = on_device::MirroredInto(shown ? line : 0, raw.lines);
    std::uint32_t x = on_device::MirroredInto(shown ? place : 0, raw.columns);
    if (picture.flip_y) y = raw.lines - 1 - y;
    if (raw.flip && raw.x.rule.taps == 0) x = raw.columns - 1 - x;
    const on_device::RawTaps of_x = on_device::TapsOf(job, picture, raw.x, x);
    const on_device::RawTaps of_y = on_device::TapsOf(job, picture, raw.y, y);
    SLUICE_UNROLL
    for (std::uint32_t c = 0; c < 3; ++c) {
      if (c >= job.channels) break;
      to[wave.planar ? c * size + p : p * job.channels + c] =
          shown ? on_device::RawValue(pixels + c, job.channels, raw.width, of_x, of_y)
                : raw.fill[c];
    }
  }
}

// Makes a thread's share of the pixels of a picture, raw or compressed.
template <std::uint32_t kThreads>
SLUICE_ON_DEVICE void MakePictureShare(const JpegJob& job, const JpegWave& wave,
                                       std::uint32_t number, std::uint32_t thread,
                                       std::uint32_t threads, JpegColumn<kThreads>& column,
                                       std::uint32_t of_thread) {
  if (job.pictures[number].raw.width > 0) {
    MakeRawPixels(job, wave, number, thread, threads);
  } else {
    MakeJpegPixels(job, wave, number, thread, threads, column, of_thread);
  }
}

}  // namespace sluice
