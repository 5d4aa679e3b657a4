// Turns the lines that the libraries decode into the lines of a Picture: converts colours to sRGB
// if the file has a profile, blends transparent pixels over a background, and converts colour to
// grey if asked to.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

class ColorTransform;

struct ColorRules {
  // Channels to produce: 3 (RGB) or 1 (grey).
  std::uint32_t channels = 3;
  std::array<std::uint8_t, 3> background{255, 255, 255};  // sRGB, behind transparent pixels
  const ColorTransform* transform = nullptr;  // to sRGB; null if the values are sRGB already
  // If not null, it is raised to the greatest colour value of the 16-bit lines that were stored.
  std::optional<std::uint16_t>* greatest = nullptr;
};

// The number of channels of the Picture made from a source. A grey source gives a grey picture,
// unless it has transparent pixels and the background is coloured.
constexpr std::uint32_t PictureChannels(bool grey, bool opaque, const ColorRules& rules) noexcept {
  const auto& [red, green, blue] = rules.background;
  return grey && (opaque || (red == green && green == blue)) ? 1 : rules.channels;
}

// `in`: `width` pixels of 1, 3 or 4 values (grey; RGB; RGB and opacity). `out`: as many pixels of
// `channels` values; PictureChannels() gives `channels`. 16-bit values are native-endian and are
// rounded to 8 bits. StoreGreyLine() is for opaque pictures only. `in` and `out` must be the same
// line or not overlap.
void StoreGreyLine(const std::uint8_t* in, std::uint32_t width, const ColorRules& rules,
                   std::uint8_t* out);
void StoreRgbLine(const std::uint8_t* in, std::uint32_t width, std::uint32_t channels,
                  const ColorRules& rules, std::uint8_t* out);
void StoreRgbaLine(const std::uint8_t* in, std::uint32_t width, std::uint32_t channels,
                   const ColorRules& rules, std::uint8_t* out);
void StoreRgbaLine(const std::uint16_t* in, std::uint32_t width, std::uint32_t channels,
                   const ColorRules& rules, std::uint8_t* out);
// Divides each pixel's colours by its opacity, in lines where they were multiplied by it.
void DivideByOpacity(std::span<std::uint16_t> rgba) noexcept;

// `in`: `width` pixels of four inks. With `inverted`, the value 0 means all of the ink; without,
// none of it. Without a transform, a colour is the product of what its ink and the black ink let
// through.
void StoreCmykLine(const std::uint8_t* in, std::uint32_t width, bool inverted,
                   std::uint32_t channels, const ColorRules& rules, std::uint8_t* out);

}  // namespace sluice
