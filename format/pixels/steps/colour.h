// Changes the colours of a decoded picture, in place.
//
// The definitions are those of Pillow (ImageEnhance, ImageOps), on which torchvision's transforms
// of pictures stand: blending is (1 - factor) * a + factor * b, truncated and clamped to 0 .. 255.
// Values are the same to the byte, except for hue, for which Pillow and torchvision differ by
// rounding. IEEE 754 arithmetic in a fixed order: the same on every machine.
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

// `factor` blends between a black picture (0) and the picture (1), or beyond. The next two do so
// with one grey of its mean lightness, and with its own greys.
void AdjustBrightness(const Pixels& pixels, float factor) noexcept;
void AdjustContrast(const Pixels& pixels, float factor) noexcept;
void AdjustSaturation(const Pixels& pixels, float factor) noexcept;
// Turns the hue by `turns` of the colour circle, -0.5 to 0.5.
void AdjustHue(const Pixels& pixels, float turns) noexcept;
// Sets all channels to the lightness.
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
