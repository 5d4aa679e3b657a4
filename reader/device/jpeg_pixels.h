// Turns samples into the pixels of an image: resamples them, and converts their colours. Each
// thread of a device makes some pixels, one at a time. The arithmetic is the host's
// (format/pixels/kernels/lines_plain.h): first sums along lines, each rounded to 8 bits, then sums
// of these down columns. C++17: nvcc compiles this.
#pragma once

#include "reader/device/axis_weights.h"
#include "reader/device/jpeg_job.h"

namespace sluice {

namespace on_device {

SLUICE_ON_DEVICE inline std::uint8_t Clamped(std::int32_t value) {
  return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// JFIF's equations with 16 bits of fraction, each product rounded as libjpeg does.
SLUICE_ON_DEVICE inline void ToRgb(std::int32_t y, std::int32_t cb, std::int32_t cr,
                                   std::uint8_t* rgb) {
  cb -= 128;
  cr -= 128;
  rgb[0] = Clamped(y + ((91881 * cr + 32768) >> 16));
  rgb[1] = Clamped(y + ((-22554 * cb - 46802 * cr + 32768) >> 16));
  rgb[2] = Clamped(y + ((116130 * cb + 32768) >> 16));
}

}  // namespace on_device

// The value of a component at pixel (x, y) of the picture's image.
SLUICE_ON_DEVICE inline std::uint8_t ResampledAt(const JpegJob& job, const JpegWave& wave,
                                                 const JpegPicture& picture,
                                                 const JpegComponent& component, std::uint32_t x,
                                                 std::uint32_t y) {
  const std::uint16_t* const of_x = BeginsOf(job, picture, component.x);
  const std::uint16_t* const of_y = BeginsOf(job, picture, component.y);
  const std::uint32_t x_taps = component.x.rule.taps, y_taps = component.y.rule.taps;
  const std::uint16_t* const x_weights = of_x + wave.width + std::uint64_t{x} * x_taps;
  const std::uint16_t* const y_weights = of_y + wave.height + std::uint64_t{y} * y_taps;
  const std::uint64_t stride = std::uint64_t{BlocksAcross(picture, component)}
                               << component.size_log2;
  const std::uint8_t* line = SamplesOf(job, picture, component) +
                             (std::uint64_t{component.y.first} + of_y[y]) * stride +
                             component.x.first + of_x[x];
  // `of_columns` adds the samples of x_taps columns, along one line; then `of_lines` adds those
  // sums of y_taps lines.
  const on_device::TapSum of_columns(x_taps), of_lines(y_taps);
  std::uint32_t down = of_lines.first;
  for (std::uint32_t t = 0; t < y_taps; ++t, line += stride) {
    std::uint32_t across = of_columns.first;
    for (std::uint32_t s = 0; s < x_taps; ++s)
      across += of_columns.Weighted(line[s], x_weights[s]);
    down += of_lines.Weighted(of_columns.End(across), y_weights[t]);
  }
  return static_cast<std::uint8_t>(of_lines.End(down));
}

// Makes a thread's share of a picture's pixels: that of thread number `thread` out of `threads`.
SLUICE_ON_DEVICE inline void MakeJpegPixels(const JpegJob& job, const JpegWave& wave,
                                            std::uint32_t number, std::uint32_t thread,
                                            std::uint32_t threads) {
  const JpegPicture& picture = job.pictures[number];
  const std::uint64_t pixels = std::uint64_t{wave.width} * wave.height;
  std::uint8_t* const to = wave.to + (number - wave.first_picture) * pixels * job.channels;
  for (std::uint64_t p = thread; p < pixels; p += threads) {
    const auto y = static_cast<std::uint32_t>(p / wave.width);
    const auto x = static_cast<std::uint32_t>(p % wave.width);
    std::uint8_t value[3];
    value[0] = ResampledAt(job, wave, picture, picture.component[0], x, y);
    if (job.channels == 3 && picture.components == 3) {
      on_device::ToRgb(value[0], ResampledAt(job, wave, picture, picture.component[1], x, y),
                       ResampledAt(job, wave, picture, picture.component[2], x, y), value);
    } else {
      value[1] = value[2] = value[0];
    }
    const std::uint64_t at =
        std::uint64_t{picture.flip_y ? wave.height - 1 - y : y} * wave.width + x;
    SLUICE_UNROLL
    for (std::uint32_t c = 0; c < 3; ++c) {
      if (c < job.channels) to[wave.planar ? c * pixels + at : at * job.channels + c] = value[c];
    }
  }
}

}  // namespace sluice
