// What can be done to the colours of a decoded picture, in place.
//
// The definitions are Pillow's (ImageEnhance, ImageOps), which torchvision's transforms of pictures
// stand on (blending is (1 - factor) * a + factor * b, truncated, and cut off at 0 and 255); values
// are the same to the byte, but for hue, where the two differ among themselves by rounding.
// Arithmetic is that of IEEE 754 in a fixed order: the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// 8-bit pixels, interleaved, rows without padding; 1 (grey) or 3 (RGB) channels.
struct Pixels {
  std::uint8_t* data = nullptr;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 0;
  std::size_t bytes() const noexcept { return std::size_t{width} * height * channels; }
};

// `factor` blends with a black picture (0), the picture (1) or beyond; likewise with one grey of
// its mean lightness, and with its own greys.
void AdjustBrightness(const Pixels& pixels, float factor) noexcept;
void AdjustContrast(const Pixels& pixels, float factor) noexcept;
void AdjustSaturation(const Pixels& pixels, float factor) noexcept;
// Turns the hue by `turns` of the colour circle, -0.5 to 0.5.
void AdjustHue(const Pixels& pixels, float turns) noexcept;
// All channels become the lightness.
void MakeGrey(const Pixels& pixels) noexcept;

void InvertPixels(const Pixels& pixels) noexcept;
// Inverts values from the threshold on.
void SolarizePixels(const Pixels& pixels, unsigned threshold) noexcept;
// Keeps the upper `bits` of each value.
void PosterizePixels(const Pixels& pixels, unsigned bits) noexcept;
// Each channel's values are spread so that all are about equally frequent.
void EqualizePixels(const Pixels& pixels) noexcept;
// Each channel's values are stretched to 0 .. 255.
void StretchContrast(const Pixels& pixels) noexcept;

}  // namespace sluice
