// Turns samples into the pixels of an image: resamples them, and converts their colours. Each
// thread of a device makes some rows of a column, from the top down: it adds up a line of samples
// once for all rows that need it, and threads side by side read samples side by side. The
// arithmetic is the host's (format/pixels/kernels/lines_plain.h): first sums along lines, each
// rounded to 8 bits, then sums of these down columns. C++17: nvcc compiles this.
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

// The samples and weights from which a column of a component's pixels is made.
struct ColumnSource {
  SLUICE_ON_DEVICE ColumnSource(const JpegJob& job, const JpegWave& wave,
                                const JpegPicture& picture, const JpegComponent& component,
                                std::uint32_t x)
      : x_taps(component.x.rule.taps),
        y_taps(component.y.rule.taps),
        stride(std::uint64_t{BlocksAcross(picture, component)} << component.size_log2),
        begins(BeginsOf(job, picture, component.y)),
        y_weights(begins + wave.height) {
    const std::uint16_t* const of_x = BeginsOf(job, picture, component.x);
    x_weights = of_x + wave.width + std::uint64_t{x} * x_taps;
    samples = SamplesOf(job, picture, component) + std::uint64_t{component.y.first} * stride +
              component.x.first + of_x[x];
  }

  std::uint32_t x_taps, y_taps;
  std::uint64_t stride;
  const std::uint16_t* begins;     // each pixel's first line
  const std::uint16_t* y_weights;  // y_taps for each pixel
  const std::uint16_t* x_weights;  // the column's
  const std::uint8_t* samples;     // the column's first sample, in line 0
};

// The column's pixel `y`.
SLUICE_ON_DEVICE inline std::uint8_t ResampledAt(const ColumnSource& column, std::uint32_t y) {
  const std::uint16_t* const y_weights = column.y_weights + std::uint64_t{y} * column.y_taps;
  const std::uint8_t* line = column.samples + column.begins[y] * column.stride;
  // `of_columns` adds the samples of x_taps columns, along one line; then `of_lines` adds those
  // sums of y_taps lines.
  const on_device::TapSum of_columns(column.x_taps), of_lines(column.y_taps);
  std::uint32_t down = of_lines.first;
  for (std::uint32_t t = 0; t < column.y_taps; ++t, line += column.stride) {
    std::uint32_t across = of_columns.first;
    for (std::uint32_t s = 0; s < column.x_taps; ++s)
      across += of_columns.Weighted(line[s], column.x_weights[s]);
    down += of_lines.Weighted(of_columns.End(across), y_weights[t]);
  }
  return static_cast<std::uint8_t>(of_lines.End(down));
}

// For each of kThreads threads that share this memory: the pixels of a column that it makes.
template <std::uint32_t kThreads>
struct JpegColumn {
  static constexpr std::uint32_t kRows = 16;
  static constexpr std::uint32_t kFewTaps = 6;  // on each axis, for ResampleByFew()
  // Of the component at hand, sums along the last lines: that along line n has the places n %
  // kLines and kLines after that, so that kFewTaps sums in a row have places in a row.
  static constexpr std::uint32_t kLines = 8;
  std::uint8_t across[2 * kLines][kThreads];
  std::uint8_t value[3][kRows][kThreads];  // of each component
};

// Makes pixels [first, end) of component `number` of a column, which has at most kFewTaps taps on
// each axis. `thread`: its place in `memory`.
template <std::uint32_t kThreads>
SLUICE_ON_DEVICE void ResampleByFew(const ColumnSource& column, std::uint32_t first,
                                    std::uint32_t end, std::uint32_t number,
                                    JpegColumn<kThreads>& memory, std::uint32_t thread) {
  using Memory = JpegColumn<kThreads>;
  const std::uint32_t x_taps = column.x_taps, y_taps = column.y_taps;
  const on_device::TapSum of_columns(x_taps), of_lines(y_taps);
  std::uint32_t weight[Memory::kFewTaps] = {};
  SLUICE_UNROLL
  for (std::uint32_t t = 0; t < Memory::kFewTaps; ++t)
    if (t < x_taps) weight[t] = column.x_weights[t];
  const std::uint16_t* y_weights = column.y_weights + std::uint64_t{first} * y_taps;
  const std::uint8_t* line = column.samples;
  std::uint32_t next = 0;  // that line's number; the sums before it are made
  for (std::uint32_t y = first; y < end; ++y, y_weights += y_taps) {
    const std::uint32_t begin = column.begins[y];
    if (next < begin || next > begin + y_taps) {
      next = begin;
      line = column.samples + begin * column.stride;
    }
    for (; next < begin + y_taps; ++next, line += column.stride) {
      std::uint32_t sum = of_columns.first;
      SLUICE_UNROLL
      for (std::uint32_t t = 0; t < Memory::kFewTaps; ++t)
        if (t < x_taps) sum += of_columns.Weighted(line[t], weight[t]);
      const std::uint32_t place = next % Memory::kLines;
      memory.across[place][thread] = memory.across[place + Memory::kLines][thread] =
          static_cast<std::uint8_t>(of_columns.End(sum));
    }
    std::uint32_t sum = of_lines.first;
    const std::uint32_t place = begin % Memory::kLines;
    SLUICE_UNROLL
    for (std::uint32_t t = 0; t < Memory::kFewTaps; ++t)
      if (t < y_taps) sum += of_lines.Weighted(memory.across[place + t][thread], y_weights[t]);
    memory.value[number][y - first][thread] = static_cast<std::uint8_t>(of_lines.End(sum));
  }
}

// Makes a thread's share of a picture's pixels: that of thread number `thread` out of `threads`.
template <std::uint32_t kThreads>
SLUICE_ON_DEVICE void MakeJpegPixels(const JpegJob& job, const JpegWave& wave, std::uint32_t number,
                                     std::uint32_t thread, std::uint32_t threads,
                                     JpegColumn<kThreads>& memory, std::uint32_t of_thread) {
  using Memory = JpegColumn<kThreads>;
  constexpr std::uint32_t kRows = Memory::kRows;
  const JpegPicture& picture = job.pictures[number];
  const std::uint64_t pixels = std::uint64_t{wave.width} * wave.height;
  std::uint8_t* const to = wave.to + (number - wave.first_picture) * pixels * job.channels;
  const std::uint32_t shares = wave.width * ((wave.height + kRows - 1) / kRows);
  const bool coloured = job.channels == 3 && picture.components == 3;
  for (std::uint32_t share = thread; share < shares; share += threads) {
    const std::uint32_t x = share % wave.width, first = share / wave.width * kRows;
    const std::uint32_t end = first + kRows < wave.height ? first + kRows : wave.height;
    for (std::uint32_t c = 0; c < (coloured ? 3U : 1U); ++c) {
      const ColumnSource source(job, wave, picture, picture.component[c], x);
      if (source.x_taps <= Memory::kFewTaps && source.y_taps <= Memory::kFewTaps) {
        ResampleByFew(source, first, end, c, memory, of_thread);
        continue;
      }
      for (std::uint32_t y = first; y < end; ++y)
        memory.value[c][y - first][of_thread] = ResampledAt(source, y);
    }
    for (std::uint32_t y = first; y < end; ++y) {
      std::uint8_t value[3];
      SLUICE_UNROLL
      for (std::uint32_t c = 0; c < 3; ++c)
        value[c] = memory.value[coloured ? c : 0][y - first][of_thread];
      if (coloured) on_device::ToRgb(value[0], value[1], value[2], value);
      const std::uint64_t at =
          std::uint64_t{picture.flip_y ? wave.height - 1 - y : y} * wave.width + x;
      SLUICE_UNROLL
      for (std::uint32_t c = 0; c < 3; ++c) {
        if (c < job.channels) to[wave.planar ? c * pixels + at : at * job.channels + c] = value[c];
      }
    }
  }
}

}  // namespace sluice
