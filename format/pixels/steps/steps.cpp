// Colour steps on single values are kernels. Steps that depend on all values of a channel
// (EqualizePixels(), StretchContrast()) count them first and replace them by a table. The warps are
// loops here.
// Devices must give the same bytes. So the arithmetic that both have is in shared.inc.h, which is
// included inside this file's namespace: change a formula there, not here.
#include "format/pixels/steps/steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "format/pixels/kernels/kernels.h"

namespace sluice {

namespace {

#define SLUICE_INLINE inline
#include "format/pixels/steps/shared.inc.h"
#undef SLUICE_INLINE

using Table = std::array<std::uint8_t, 256>;
using Histogram = std::array<std::uint64_t, 256>;

// Counts the values of each channel.
template <std::uint32_t kChannels>
void CountValues(const std::uint8_t* data, std::size_t pixels, Histogram (&histograms)[kChannels]) {
  // Neighbours are often alike, and a count would have to wait for the one before it. So pixels go
  // in turn to four separate sets of counts.
  constexpr std::size_t kTurns = 4;
  std::uint32_t counts[kTurns][kChannels][256] = {};
  std::size_t i = 0;
  for (; i + kTurns <= pixels; i += kTurns, data += kTurns * kChannels) {
    for (std::size_t turn = 0; turn < kTurns; ++turn)
      for (std::uint32_t c = 0; c < kChannels; ++c)
        ++counts[turn][c][data[turn * kChannels + c]];
  }
  for (; i < pixels; ++i, data += kChannels)
    for (std::uint32_t c = 0; c < kChannels; ++c)
      ++counts[0][c][data[c]];
  for (std::uint32_t c = 0; c < kChannels; ++c) {
    for (std::size_t v = 0; v < 256; ++v) {
      histograms[c][v] = 0;
      for (std::size_t turn = 0; turn < kTurns; ++turn)
        histograms[c][v] += counts[turn][c][v];
    }
  }
}

// Replaces values by a table for each channel, which make_table() makes from the channel's
// histogram. If make_table() returns false, the channel stays as it is.
template <std::uint32_t kChannels, class MakeTable>
void LookUp(const Pixels& pixels, const MakeTable& make_table) noexcept {
  const std::size_t count = std::size_t{pixels.width} * pixels.height;
  Histogram histograms[kChannels];
  CountValues<kChannels>(pixels.data, count, histograms);
  Table tables[kChannels];
  for (std::uint32_t c = 0; c < kChannels; ++c) {
    if (!make_table(histograms[c], tables[c]))
      std::iota(tables[c].begin(), tables[c].end(), std::uint8_t{0});
  }
  std::uint8_t* at = pixels.data;
  for (std::size_t i = 0; i < count; ++i)
    for (std::uint32_t c = 0; c < kChannels; ++c, ++at)
      *at = tables[c][*at];
}
template <class MakeTable>
void LookUpByChannel(const Pixels& pixels, const MakeTable& make_table) noexcept {
  pixels.channels == 3 ? LookUp<3>(pixels, make_table) : LookUp<1>(pixels, make_table);
}

}  // namespace

void AdjustBrightness(const Pixels& pixels, float factor) noexcept {
  kernels::Chosen().blend_with(pixels.data, pixels.bytes(), 0, factor);
}

void AdjustContrast(const Pixels& pixels, float factor) noexcept {
  const std::size_t count = std::size_t{pixels.width} * pixels.height;
  if (count == 0) return;
  const kernels::Kernels& set = kernels::Chosen();
  const std::uint64_t sum =
      pixels.channels == 3 ? set.sum_grey_rgb(pixels.data, count)
                           : std::accumulate(pixels.data, pixels.data + count, std::uint64_t{0});
  const auto mean = static_cast<std::uint8_t>((2 * sum + count) / (2 * count));
  set.blend_with(pixels.data, pixels.bytes(), mean, factor);
}

void AdjustSaturation(const Pixels& pixels, float factor) noexcept {
  if (pixels.channels != 3) return;
  kernels::Chosen().saturate_rgb(pixels.data, pixels.bytes() / 3, factor);
}

void AdjustHue(const Pixels& pixels, float turns) noexcept {
  if (pixels.channels != 3) return;
  kernels::Chosen().turn_hue_rgb(pixels.data, pixels.bytes() / 3, turns * 6);
}

void MakeGrey(const Pixels& pixels) noexcept {
  if (pixels.channels != 3) return;
  kernels::Chosen().grey_rgb(pixels.data, pixels.bytes() / 3);
}

void InvertPixels(const Pixels& pixels) noexcept {
  kernels::Chosen().invert_from(pixels.data, pixels.bytes(), 0);
}

void SolarizePixels(const Pixels& pixels, unsigned threshold) noexcept {
  if (threshold > 255) return;
  kernels::Chosen().invert_from(pixels.data, pixels.bytes(), static_cast<std::uint8_t>(threshold));
}

void PosterizePixels(const Pixels& pixels, unsigned bits) noexcept {
  kernels::Chosen().mask_bits(pixels.data, pixels.bytes(),
                              static_cast<std::uint8_t>(0xFF00U >> bits));
}

void EqualizePixels(const Pixels& pixels) noexcept {
  LookUpByChannel(pixels, [](const Histogram& histogram, Table& table) {
    std::uint64_t sum = 0;
    std::uint64_t last = 0;  // how many pixels have the greatest value that occurs
    for (const std::uint64_t n : histogram) {
      sum += n;
      if (n > 0) last = n;
    }
    const std::uint64_t step = EqualStep(sum, last);
    if (step == 0) return false;
    std::uint64_t below = 0;
    for (unsigned v = 0; v < 256; ++v) {
      table[v] = EqualValue(below, step);
      below += histogram[v];
    }
    return true;
  });
}

void StretchContrast(const Pixels& pixels) noexcept {
  LookUpByChannel(pixels, [](const Histogram& histogram, Table& table) {
    int low = 0;
    int high = 255;
    while (low < 255 && histogram[static_cast<std::size_t>(low)] == 0)
      ++low;
    while (high > 0 && histogram[static_cast<std::size_t>(high)] == 0)
      --high;
    if (high <= low) return false;
    const double scale = StretchScale(low, high);
    for (int v = 0; v < 256; ++v)
      table[static_cast<std::size_t>(v)] = StretchedValue(v, low, scale);
    return true;
  });
}

namespace {

template <std::uint32_t kChannels>
void Bilinear(const Pixels& in, const AffineMap& to_source, const std::uint8_t* fill,
              const Pixels& out) noexcept {
  std::uint8_t* to = out.data;
  const std::int64_t xx = FinePlace(to_source.xx), yx = FinePlace(to_source.yx);
  for (std::uint32_t line = 0; line < out.height; ++line) {
    std::int64_t at_x = FinePlace(RowX(to_source, line + 0.5));
    std::int64_t at_y = FinePlace(RowY(to_source, line + 0.5));
    for (std::uint32_t column = 0; column < out.width;
         ++column, at_x += xx, at_y += yx, to += kChannels) {
      if (!LiesInside<kFine>(at_x, at_y, in.width, in.height)) {
        std::memcpy(to, fill, kChannels);
        continue;
      }
      const Pair x = PairAt(at_x, in.width);
      const Pair y = PairAt(at_y, in.height);
      const std::uint8_t* const above = in.data + std::size_t{y.first} * in.width * kChannels;
      const std::uint8_t* const below = in.data + std::size_t{y.second} * in.width * kChannels;
      for (std::uint32_t c = 0; c < kChannels; ++c) {
        to[c] = MixedValue(above, below, x.first * kChannels + c, x.second * kChannels + c, x.share,
                           y.share);
      }
    }
  }
}

// Pixels have kBytes bytes, or in.channels bytes if kBytes is 0. The pictures are passed by value:
// otherwise the compiler must assume that each pixel written may change their sizes.
template <std::size_t kBytes>
void Nearest(Pixels in, const AffineMap& to_source, const std::uint8_t* fill, Pixels out) noexcept {
  const std::size_t pixel = kBytes != 0 ? kBytes : in.channels;
  std::uint8_t* to = out.data;
  const std::int64_t first_x = CoarsePlace(RowX(to_source, 0.5));
  const std::int64_t first_y = CoarsePlace(RowY(to_source, 0.5));
  const std::int64_t xx = CoarsePlace(to_source.xx), xy = CoarsePlace(to_source.xy);
  const std::int64_t yx = CoarsePlace(to_source.yx), yy = CoarsePlace(to_source.yy);
  for (std::uint32_t line = 0; line < out.height; ++line) {
    std::int64_t x = first_x + line * xy;
    std::int64_t y = first_y + line * yy;
    for (std::uint32_t column = 0; column < out.width; ++column, x += xx, y += yx, to += pixel) {
      const bool inside = LiesInside<kCoarse>(x, y, in.width, in.height);
      const std::size_t at = static_cast<std::size_t>(y >> kCoarse) * in.width +
                             static_cast<std::size_t>(x >> kCoarse);
      std::memcpy(to, inside ? in.data + at * pixel : fill, pixel);
    }
  }
}

}  // namespace

AffineMap AffineMap::Inverse() const noexcept {
  const double d = Determinant();
  AffineMap map{yy / d, -xy / d, 0, -yx / d, xx / d, 0};
  map.x0 = -(map.xx * x0 + map.xy * y0);
  map.y0 = -(map.yx * x0 + map.yy * y0);
  return map;
}

AffineMap operator*(const AffineMap& a, const AffineMap& b) noexcept {
  return {a.xx * b.xx + a.xy * b.yx, a.xx * b.xy + a.xy * b.yy, a.X(b.x0, b.y0),
          a.yx * b.xx + a.yy * b.yx, a.yx * b.xy + a.yy * b.yy, a.Y(b.x0, b.y0)};
}

void WarpBilinear(const Pixels& in, const AffineMap& to_source, const std::uint8_t* fill,
                  const Pixels& out) noexcept {
  in.channels == 3 ? Bilinear<3>(in, to_source, fill, out) : Bilinear<1>(in, to_source, fill, out);
}

void WarpNearest(const Pixels& in, const AffineMap& to_source, const std::uint8_t* fill,
                 const Pixels& out) noexcept {
  switch (in.channels) {
    case 1: return Nearest<1>(in, to_source, fill, out);
    case 3: return Nearest<3>(in, to_source, fill, out);
    default: return Nearest<0>(in, to_source, fill, out);
  }
}

void Blur::Run(const Pixels& pixels, std::span<const std::uint32_t> weights) {
  const kernels::Kernels& set = kernels::Chosen();
  const auto taps = static_cast<std::uint32_t>(weights.size());
  const std::int64_t reach = taps / 2;
  const std::size_t channels = pixels.channels;
  const std::size_t stride = pixels.width * channels;
  // First the vertical pass over all lines of a picture with mirrored ends, then the horizontal
  // one. Sums between the two have seven bits of fraction.
  wide_.resize(stride * (pixels.height + 2 * static_cast<std::size_t>(reach)));
  for (std::int64_t y = -reach; y < std::int64_t{pixels.height} + reach; ++y) {
    const auto from = static_cast<std::size_t>(Mirrored(y, std::int64_t{pixels.height}));
    std::copy_n(pixels.data + from * stride, stride,
                &wide_[static_cast<std::size_t>(y + reach) * stride]);
  }
  sums_.resize(pixels.bytes());
  for (std::size_t y = 0; y < pixels.height; ++y)
    set.blur_columns(&wide_[y * stride], stride, weights.data(), taps, stride, &sums_[y * stride]);
  // A row with its mirrored ends, so that every pixel's taps lie in one run.
  const std::size_t end = static_cast<std::size_t>(reach) * channels;
  line_.resize(stride + 2 * end);
  for (std::uint32_t y = 0; y < pixels.height; ++y) {
    const std::uint16_t* const row = &sums_[y * stride];
    std::copy_n(row, stride, &line_[end]);
    for (std::int64_t x = 1; x <= reach; ++x) {
      const auto away = static_cast<std::size_t>(x) * channels;
      std::copy_n(row + away, channels, &line_[end - away]);
      std::copy_n(row + stride - channels - away, channels, &line_[end + stride - channels + away]);
    }
    set.blur_line(line_.data(), channels, weights.data(), taps, stride, pixels.data + y * stride);
  }
}

void Sharpness::Run(const Pixels& pixels, float factor) {
  if (pixels.width < 3 || pixels.height < 3) return;
  const std::size_t channels = pixels.channels;
  const std::size_t stride = pixels.width * channels;
  smooth_.assign(pixels.data, pixels.data + pixels.bytes());
  const kernels::Kernels& set = kernels::Chosen();
  for (std::uint32_t y = 1; y + 1 < pixels.height; ++y) {
    const std::uint8_t* const line = pixels.data + y * stride;
    set.smooth_line(line - stride, line, line + stride, channels, stride - 2 * channels,
                    &smooth_[y * stride + channels]);
  }
  set.blend_lines(smooth_.data(), pixels.data, pixels.bytes(), factor);
}

}  // namespace sluice
