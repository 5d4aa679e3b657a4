// From decoded rows, as the libraries give them, to the rows of a Picture: colours are converted to
// sRGB if there is a profile, transparent pixels are blended over a background, and colours become
// grey if asked for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

class ColorTransform;

struct ColorRules {
  std::uint32_t channels = 3;                             // wanted: 3 (RGB) or 1 (grey)
  std::array<std::uint8_t, 3> background{255, 255, 255};  // sRGB, behind transparent pixels
  const ColorTransform* transform = nullptr;  // to sRGB; nullptr: the values are sRGB already
  // If not null, becomes the greatest colour value of the 16-bit rows that were stored.
  std::optional<std::uint16_t>* greatest = nullptr;
};

// The channels of the Picture that a source becomes. Grey sources stay grey, unless a coloured
// background shows through.
constexpr std::uint32_t PictureChannels(bool grey, bool opaque, const ColorRules& rules) noexcept {
  const auto& [red, green, blue] = rules.background;
  return grey && (opaque || (red == green && green == blue)) ? 1 : rules.channels;
}

// `in`: `width` pixels of 1, 3 or 4 values (grey; RGB; RGB and opacity). `out`: as many pixels of
// `channels` values, from PictureChannels(). 16-bit values are native-endian and are rounded. Grey
// rows are for opaque pictures; `in` and `out` must not overlap unless they are the same row.
void StoreGreyRow(const std::uint8_t* in, std::uint32_t width, const ColorRules& rules,
                  std::uint8_t* out);
void StoreRgbRow(const std::uint8_t* in, std::uint32_t width, std::uint32_t channels,
                 const ColorRules& rules, std::uint8_t* out);
void StoreRgbaRow(const std::uint8_t* in, std::uint32_t width, std::uint32_t channels,
                  const ColorRules& rules, std::uint8_t* out);
void StoreRgbaRow(const std::uint16_t* in, std::uint32_t width, std::uint32_t channels,
                  const ColorRules& rules, std::uint8_t* out);
// Divides the colours of pixels of four values by their opacity, by which they were multiplied.
void DivideByOpacity(std::span<std::uint16_t> rgba) noexcept;

// `in`: `width` pixels of four inks; `inverted`: 0 is all of the ink. Without a transform inks
// become light by their product.
void StoreCmykRow(const std::uint8_t* in, std::uint32_t width, bool inverted,
                  std::uint32_t channels, const ColorRules& rules, std::uint8_t* out);

}  // namespace sluice
