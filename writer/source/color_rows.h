// From decoded rows, as the libraries give them, to the rows of a Picture: colours brought to sRGB
// where a profile says what they are, what is transparent laid over a background, grey where that
// is wanted.
#pragma once

#include <array>
#include <cstdint>

namespace sluice {

class ColorTransform;

struct ColorRules {
  std::uint32_t channels = 3;                             // wanted: 3 (RGB) or 1 (grey)
  std::array<std::uint8_t, 3> background{255, 255, 255};  // sRGB, under what is transparent
  const ColorTransform* transform = nullptr;              // to sRGB; nullptr: values are sRGB's
};

// Channels of the Picture that a source becomes. Grey ones stay grey, unless a background of
// another colour shows through.
constexpr std::uint32_t PictureChannels(bool grey, bool opaque, const ColorRules& rules) noexcept {
  const auto& [red, green, blue] = rules.background;
  return grey && (opaque || (red == green && green == blue)) ? 1 : rules.channels;
}

// `in`: `width` pixels of 1, 3 or 4 values (grey; RGB; RGB and opacity). `out`: as many of
// `channels`, which PictureChannels() gave. Values of 16 bits are native-endian and rounded. Rows
// of grey are for opaque pictures, and must not lie over `out` unless they are the same row.
void StoreGreyRow(const std::uint8_t* in, std::uint32_t width, const ColorRules& rules,
                  std::uint8_t* out);
void StoreRgbRow(const std::uint8_t* in, std::uint32_t width, std::uint32_t channels,
                 const ColorRules& rules, std::uint8_t* out);
void StoreRgbaRow(const std::uint8_t* in, std::uint32_t width, std::uint32_t channels,
                  const ColorRules& rules, std::uint8_t* out);
void StoreRgbaRow(const std::uint16_t* in, std::uint32_t width, std::uint32_t channels,
                  const ColorRules& rules, std::uint8_t* out);

}  // namespace sluice
