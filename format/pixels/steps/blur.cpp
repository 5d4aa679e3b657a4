#include "format/pixels/steps/blur.h"

#include <algorithm>

#include "format/pixels/kernels/kernels.h"

namespace sluice {

namespace {

#define SLUICE_INLINE inline
#include "format/pixels/steps/mirror.inc.h"
#undef SLUICE_INLINE

}  // namespace

void Blur::Run(const Pixels& pixels, std::span<const std::uint32_t> weights) {
  const kernels::Kernels& set = kernels::Chosen();
  const auto taps = static_cast<std::uint32_t>(weights.size());
  const std::int64_t reach = taps / 2;
  const std::size_t channels = pixels.channels;
  const std::size_t stride = pixels.width * channels;
  // First the vertical pass over all rows of a picture with mirrored ends, then the horizontal one.
  // Sums between the two have seven bits of fraction.
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
