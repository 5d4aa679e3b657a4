#include "format/pixels/steps/colour.h"

#include <array>
#include <numeric>

#include "format/pixels/kernels/kernels.h"

namespace sluice {

namespace {

#define SLUICE_INLINE inline
#include "format/pixels/steps/value_table.inc.h"
#undef SLUICE_INLINE

using Table = std::array<std::uint8_t, 256>;
using Histogram = std::array<std::uint64_t, 256>;

// Of each channel.
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

// A table for each channel, made from its histogram; none if nothing changes.
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
void LookByChannel(const Pixels& pixels, const MakeTable& make_table) noexcept {
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
  LookByChannel(pixels, [](const Histogram& histogram, Table& table) {
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
  LookByChannel(pixels, [](const Histogram& histogram, Table& table) {
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

}  // namespace sluice
