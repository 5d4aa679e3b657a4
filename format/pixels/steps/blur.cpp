#include "format/pixels/steps/blur.h"

#include <algorithm>

namespace sluice {

namespace {

// The index mirrored into 0 .. size - 1; it lies less than `size` outside.
std::int64_t Mirrored(std::int64_t index, std::int64_t size) noexcept {
  if (index < 0) return -index;
  return index < size ? index : 2 * (size - 1) - index;
}

}  // namespace

void Blur::Run(const Pixels& pixels, std::span<const std::uint32_t> weights) {
  const auto reach = static_cast<std::int64_t>(weights.size() / 2);
  const std::size_t stride = std::size_t{pixels.width} * pixels.channels;
  const std::size_t channels = pixels.channels;
  // The vertical pass of all rows, then the horizontal one. Fractions are of seven bits between.
  rows_.resize(stride * pixels.height);
  std::vector<std::uint32_t> sums(stride);
  for (std::int64_t y = 0; y < std::int64_t{pixels.height}; ++y) {
    std::fill(sums.begin(), sums.end(), 1U << 8);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const std::int64_t from = Mirrored(y + static_cast<std::int64_t>(t) - reach, pixels.height);
      const std::uint8_t* const row = pixels.data + static_cast<std::size_t>(from) * stride;
      for (std::size_t i = 0; i < stride; ++i)
        sums[i] += row[i] * weights[t];
    }
    std::uint16_t* const out = &rows_[static_cast<std::size_t>(y) * stride];
    for (std::size_t i = 0; i < stride; ++i)
      out[i] = static_cast<std::uint16_t>(sums[i] >> 9);
  }
  // A row with its mirrored ends, so that every pixel's taps lie in one run.
  std::vector<std::uint32_t> line((pixels.width + 2 * static_cast<std::size_t>(reach)) * channels);
  std::vector<std::uint32_t> totals(stride);
  for (std::uint32_t y = 0; y < pixels.height; ++y) {
    const std::uint16_t* const row = &rows_[y * stride];
    for (std::int64_t x = -reach; x < std::int64_t{pixels.width} + reach; ++x) {
      const auto from = static_cast<std::size_t>(Mirrored(x, pixels.width)) * channels;
      std::copy_n(row + from, channels, &line[static_cast<std::size_t>(x + reach) * channels]);
    }
    std::fill(totals.begin(), totals.end(), 1U << 22);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const std::uint32_t* const from = &line[t * channels];
      for (std::size_t i = 0; i < stride; ++i)
        totals[i] += from[i] * weights[t];
    }
    std::uint8_t* const out = pixels.data + y * stride;
    for (std::size_t i = 0; i < stride; ++i)
      out[i] = static_cast<std::uint8_t>(totals[i] >> 23);
  }
}

void Sharpness::Run(const Pixels& pixels, float factor) {
  if (pixels.width < 3 || pixels.height < 3) return;
  const std::size_t channels = pixels.channels;
  const std::size_t stride = pixels.width * channels;
  smooth_.assign(pixels.data, pixels.data + pixels.bytes());
  for (std::uint32_t y = 1; y + 1 < pixels.height; ++y) {
    for (std::size_t i = channels; i + channels < stride; ++i) {
      const std::uint8_t* const at = pixels.data + y * stride + i;
      unsigned sum = 4U * *at;
      for (const std::uint8_t* const row : {at - stride, at, at + stride})
        sum += unsigned{*(row - channels)} + *row + *(row + channels);
      smooth_[y * stride + i] = static_cast<std::uint8_t>((2 * sum + 13) / 26);
    }
  }
  for (std::size_t i = 0; i < pixels.bytes(); ++i)
    pixels.data[i] = Blend(smooth_[i], pixels.data[i], factor);
}

}  // namespace sluice
