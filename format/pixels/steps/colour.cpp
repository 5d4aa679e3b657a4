#include "format/pixels/steps/colour.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "format/pixels/grey.h"

namespace sluice {

namespace {

using Table = std::array<std::uint8_t, 256>;

void Look(const Pixels& pixels, const Table& table) noexcept {
  for (std::size_t i = 0; i < pixels.bytes(); ++i)
    pixels.data[i] = table[pixels.data[i]];
}

// A table for each channel, made from its histogram.
template <class MakeTable>
void LookByChannel(const Pixels& pixels, MakeTable make_table) noexcept {
  const std::size_t count = std::size_t{pixels.width} * pixels.height;
  for (std::uint32_t c = 0; c < pixels.channels; ++c) {
    std::array<std::uint64_t, 256> histogram{};
    std::uint8_t* const channel = pixels.data + c;
    for (std::size_t i = 0; i < count; ++i)
      ++histogram[channel[i * pixels.channels]];
    Table table;
    if (!make_table(histogram, table)) continue;
    for (std::size_t i = 0; i < count; ++i)
      channel[i * pixels.channels] = table[channel[i * pixels.channels]];
  }
}

std::uint8_t Lightness(const Pixels& pixels, std::size_t pixel) noexcept {
  const std::uint8_t* const at = pixels.data + pixel * pixels.channels;
  return pixels.channels == 3 ? GreyOf(at) : *at;
}

struct Hsv {
  float hue, saturation, value;  // hue in sixths of a turn, 0 to 6; the others 0 to 1 and 0 to 255
};

Hsv ToHsv(const std::uint8_t* rgb) noexcept {
  const float r = rgb[0], g = rgb[1], b = rgb[2];
  const float high = std::max({r, g, b});
  const float range = high - std::min({r, g, b});
  if (range == 0) return {0, 0, high};
  float hue = 0;
  if (high == r) {
    hue = (g - b) / range;
  } else if (high == g) {
    hue = 2 + (b - r) / range;
  } else {
    hue = 4 + (r - g) / range;
  }
  return {hue < 0 ? hue + 6 : hue, range / high, high};
}

void FromHsv(const Hsv& hsv, std::uint8_t* rgb) noexcept {
  const int sector = std::min(static_cast<int>(hsv.hue), 5);
  const float part = hsv.hue - static_cast<float>(sector);
  const auto rounded = [](float v) { return static_cast<std::uint8_t>(v + 0.5F); };
  const std::uint8_t v = rounded(hsv.value);
  const std::uint8_t p = rounded(hsv.value * (1 - hsv.saturation));
  const std::uint8_t q = rounded(hsv.value * (1 - hsv.saturation * part));
  const std::uint8_t t = rounded(hsv.value * (1 - hsv.saturation * (1 - part)));
  const std::uint8_t by_sector[6][3] = {{v, t, p}, {q, v, p}, {p, v, t},
                                        {p, q, v}, {t, p, v}, {v, p, q}};
  std::copy_n(by_sector[sector], 3, rgb);
}

}  // namespace

std::uint8_t Blend(std::uint8_t a, std::uint8_t b, float factor) noexcept {
  const float value = static_cast<float>(a) + factor * static_cast<float>(int{b} - int{a});
  return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
}

void AdjustBrightness(const Pixels& pixels, float factor) noexcept {
  Table table;
  for (unsigned v = 0; v < 256; ++v)
    table[v] = Blend(0, static_cast<std::uint8_t>(v), factor);
  Look(pixels, table);
}

void AdjustContrast(const Pixels& pixels, float factor) noexcept {
  const std::size_t count = std::size_t{pixels.width} * pixels.height;
  if (count == 0) return;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i)
    sum += Lightness(pixels, i);
  const auto mean = static_cast<std::uint8_t>((2 * sum + count) / (2 * count));
  Table table;
  for (unsigned v = 0; v < 256; ++v)
    table[v] = Blend(mean, static_cast<std::uint8_t>(v), factor);
  Look(pixels, table);
}

void AdjustSaturation(const Pixels& pixels, float factor) noexcept {
  if (pixels.channels != 3) return;
  const std::size_t bytes = pixels.bytes();
  for (std::size_t i = 0; i < bytes; i += 3) {
    std::uint8_t* const rgb = pixels.data + i;
    const std::uint8_t grey = GreyOf(rgb);
    for (int c = 0; c < 3; ++c)
      rgb[c] = Blend(grey, rgb[c], factor);
  }
}

void AdjustHue(const Pixels& pixels, float turns) noexcept {
  if (pixels.channels != 3) return;
  const float sixths = turns * 6;
  for (std::size_t i = 0; i < pixels.bytes(); i += 3) {
    Hsv hsv = ToHsv(pixels.data + i);
    if (hsv.saturation == 0) continue;
    hsv.hue += sixths;
    if (hsv.hue < 0) hsv.hue += 6;
    if (hsv.hue >= 6) hsv.hue -= 6;
    FromHsv(hsv, pixels.data + i);
  }
}

void MakeGrey(const Pixels& pixels) noexcept {
  if (pixels.channels != 3) return;
  for (std::size_t i = 0; i < pixels.bytes(); i += 3)
    std::fill_n(pixels.data + i, 3, GreyOf(pixels.data + i));
}

void InvertPixels(const Pixels& pixels) noexcept {
  for (std::size_t i = 0; i < pixels.bytes(); ++i)
    pixels.data[i] = static_cast<std::uint8_t>(255 - pixels.data[i]);
}

void SolarizePixels(const Pixels& pixels, unsigned threshold) noexcept {
  for (std::size_t i = 0; i < pixels.bytes(); ++i) {
    const std::uint8_t v = pixels.data[i];
    pixels.data[i] = v < threshold ? v : static_cast<std::uint8_t>(255 - v);
  }
}

void PosterizePixels(const Pixels& pixels, unsigned bits) noexcept {
  const auto mask = static_cast<std::uint8_t>(0xFF00U >> bits);
  for (std::size_t i = 0; i < pixels.bytes(); ++i)
    pixels.data[i] = pixels.data[i] & mask;
}

void EqualizePixels(const Pixels& pixels) noexcept {
  LookByChannel(pixels, [](const std::array<std::uint64_t, 256>& histogram, Table& table) {
    std::uint64_t sum = 0;
    std::uint64_t last = 0;  // of the values that occur, the greatest one's number
    for (const std::uint64_t n : histogram) {
      sum += n;
      if (n > 0) last = n;
    }
    const std::uint64_t step = (sum - last) / 255;
    if (step == 0) return false;
    std::uint64_t n = step / 2;
    for (unsigned v = 0; v < 256; ++v) {
      table[v] = static_cast<std::uint8_t>(std::min<std::uint64_t>(n / step, 255));
      n += histogram[v];
    }
    return true;
  });
}

void StretchContrast(const Pixels& pixels) noexcept {
  LookByChannel(pixels, [](const std::array<std::uint64_t, 256>& histogram, Table& table) {
    int low = 0;
    int high = 255;
    while (low < 255 && histogram[static_cast<std::size_t>(low)] == 0)
      ++low;
    while (high > 0 && histogram[static_cast<std::size_t>(high)] == 0)
      --high;
    if (high <= low) return false;
    const double scale = 255.0 / (high - low);
    const double offset = -low * scale;
    for (int v = 0; v < 256; ++v)
      table[static_cast<std::size_t>(v)] =
          static_cast<std::uint8_t>(std::clamp(v * scale + offset, 0.0, 255.0));
    return true;
  });
}

}  // namespace sluice
