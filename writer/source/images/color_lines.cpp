// The order of the steps is fixed: the profile's colours become sRGB, then pixels are blended over
// the background, which is in sRGB, and then colours become grey.
// With a profile, 16-bit values are rounded to 8 bits before the conversion. Without one they are
// blended at 16 bits and rounded once. StoreCmykLine() passes on RGB that is converted already,
// therefore with empty rules.
#include "writer/source/images/color_lines.h"

#include <algorithm>
#include <vector>

#include "format/pixels/grey.h"
#include "writer/source/images/icc.h"

namespace sluice {

namespace {

// Blends a colour value over a background value (`under`) by its opacity, rounded to 8 bits. Value
// and opacity lie in 0..full, `under` in 0..255.
template <class Value>
std::uint8_t Over(Value value, Value opacity, std::uint8_t under) noexcept {
  constexpr std::uint64_t full = static_cast<Value>(-1);
  const std::uint64_t sum =
      std::uint64_t{value} * opacity * 255 + std::uint64_t{under} * full * (full - opacity);
  return static_cast<std::uint8_t>((sum + full * full / 2) / (full * full));
}

template <class Value>
void FlattenLine(const Value* in, std::uint32_t width, std::uint32_t channels,
                 const ColorRules& rules, std::uint8_t* out) {
  const auto& under = rules.background;
  for (std::uint32_t x = 0; x < width; ++x, in += 4, out += channels) {
    const std::uint8_t rgb[3] = {Over(in[0], in[3], under[0]), Over(in[1], in[3], under[1]),
                                 Over(in[2], in[3], under[2])};
    if (channels == 1) {
      *out = GreyOf(rgb);
    } else {
      std::copy_n(rgb, 3, out);
    }
  }
}

// Converts the colours of a line with four values per pixel to sRGB. A grey pixel gets three equal
// values.
std::vector<std::uint8_t> InSrgb(const std::uint8_t* in, std::uint32_t width,
                                 const ColorTransform& transform) {
  const std::size_t values = transform.colors() == ProfileColors::kGrey ? 1 : 3;
  std::vector<std::uint8_t> colours(width * values);
  for (std::size_t x = 0; x < width; ++x)
    std::copy_n(in + x * 4, values, &colours[x * values]);
  transform.Apply(colours.data(), colours.data(), width);
  std::vector<std::uint8_t> line(std::size_t{width} * 4);
  for (std::size_t x = 0; x < width; ++x) {
    for (std::size_t c = 0; c < 3; ++c)
      line[x * 4 + c] = colours[x * values + std::min(c, values - 1)];
    line[x * 4 + 3] = in[x * 4 + 3];
  }
  return line;
}

}  // namespace

void StoreGreyLine(const std::uint8_t* in, std::uint32_t width, const ColorRules& rules,
                   std::uint8_t* out) {
  if (rules.transform != nullptr) {
    rules.transform->Apply(in, out, width);
  } else if (in != out) {
    std::copy_n(in, width, out);
  }
}

void StoreRgbLine(const std::uint8_t* in, std::uint32_t width, std::uint32_t channels,
                  const ColorRules& rules, std::uint8_t* out) {
  std::vector<std::uint8_t> line;
  if (rules.transform != nullptr) {
    line.resize(std::size_t{width} * 3);
    rules.transform->Apply(in, line.data(), width);
    in = line.data();
  }
  if (channels == 3) {
    if (in != out) std::copy_n(in, std::size_t{width} * 3, out);
    return;
  }
  for (std::size_t x = 0; x < width; ++x)
    out[x] = GreyOf(in + x * 3);
}

void StoreRgbaLine(const std::uint8_t* in, std::uint32_t width, std::uint32_t channels,
                   const ColorRules& rules, std::uint8_t* out) {
  if (rules.transform == nullptr) return FlattenLine(in, width, channels, rules, out);
  FlattenLine(InSrgb(in, width, *rules.transform).data(), width, channels, rules, out);
}

namespace {
std::uint16_t GreatestOf(const std::uint16_t* rgba, std::uint32_t width) noexcept {
  std::uint16_t greatest = 0;
  for (std::size_t i = 0; i < std::size_t{width} * 4; i += 4)
    greatest = std::max({greatest, rgba[i], rgba[i + 1], rgba[i + 2]});
  return greatest;
}
}  // namespace

void StoreRgbaLine(const std::uint16_t* in, std::uint32_t width, std::uint32_t channels,
                   const ColorRules& rules, std::uint8_t* out) {
  if (rules.greatest != nullptr) {
    *rules.greatest = std::max(rules.greatest->value_or(0), GreatestOf(in, width));
  }
  if (rules.transform == nullptr) return FlattenLine(in, width, channels, rules, out);
  std::vector<std::uint8_t> line(std::size_t{width} * 4);
  for (std::size_t i = 0; i < line.size(); ++i)
    line[i] = static_cast<std::uint8_t>((in[i] * 255U + 32767U) / 65535U);
  StoreRgbaLine(line.data(), width, channels, rules, out);
}

void DivideByOpacity(std::span<std::uint16_t> rgba) noexcept {
  for (std::size_t i = 0; i + 4 <= rgba.size(); i += 4) {
    const std::uint64_t opacity = rgba[i + 3];
    if (opacity == 0 || opacity == 65'535) continue;
    for (std::size_t c = i; c < i + 3; ++c) {
      rgba[c] = static_cast<std::uint16_t>(
          std::min<std::uint64_t>(65'535, (rgba[c] * 65'535ULL + opacity / 2) / opacity));
    }
  }
}

void StoreCmykLine(const std::uint8_t* in, std::uint32_t width, bool inverted,
                   std::uint32_t channels, const ColorRules& rules, std::uint8_t* out) {
  std::vector<std::uint8_t> rgb(std::size_t{width} * 3);
  if (rules.transform != nullptr) {
    rules.transform->Apply(in, rgb.data(), width);
  } else {
    const unsigned flip = inverted ? 0 : 255;
    for (std::size_t i = 0; i < rgb.size(); ++i) {
      const std::uint8_t* const inks = in + i / 3 * 4;
      const unsigned product = (inks[i % 3] ^ flip) * (inks[3] ^ flip);
      rgb[i] = static_cast<std::uint8_t>((product + 127) / 255);
    }
  }
  StoreRgbLine(rgb.data(), width, channels, {}, out);
}

}  // namespace sluice
