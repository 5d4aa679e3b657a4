#include "format/pixels/transpose.h"

#include <algorithm>
#include <cstring>

namespace sluice {

namespace {

constexpr std::uint32_t kTurnTile = 32;  // pixels: a tile's lines of both pictures fit into a cache

// `kPixel` bytes a pixel; 0: `pixel`.
template <std::size_t kPixel>
void TransposeRuns(const std::uint8_t* in, std::uint32_t width, std::uint32_t height,
                   std::size_t pixel, std::uint8_t* out) noexcept {
  const std::size_t bytes = kPixel != 0 ? kPixel : pixel;
  for (std::uint32_t top = 0; top < height; top += kTurnTile) {
    for (std::uint32_t left = 0; left < width; left += kTurnTile) {
      const std::uint32_t bottom = std::min(top + kTurnTile, height);
      const std::uint32_t right = std::min(left + kTurnTile, width);
      for (std::uint32_t x = left; x < right; ++x) {
        std::uint8_t* to = out + (std::size_t{x} * height + top) * bytes;
        const std::uint8_t* from = in + (std::size_t{top} * width + x) * bytes;
        for (std::uint32_t y = top; y < bottom; ++y, to += bytes, from += width * bytes)
          std::memcpy(to, from, bytes);
      }
    }
  }
}

}  // namespace

void TransposePixels(const std::uint8_t* picture, std::uint32_t width, std::uint32_t height,
                     const PixelTarget& target, std::size_t value_bytes) noexcept {
  const bool planar = target.order == PixelOrder::kPlanar;
  const std::size_t pixel = value_bytes * (planar ? 1 : target.channels);
  const std::size_t plane = std::size_t{width} * height * pixel;
  for (std::size_t part = 0; part < (planar ? target.channels : 1); ++part) {
    const std::uint8_t* const in = picture + part * plane;
    std::uint8_t* const out = target.data + part * plane;
    switch (pixel) {
      case 1: TransposeRuns<1>(in, width, height, pixel, out); break;
      case 2: TransposeRuns<2>(in, width, height, pixel, out); break;
      case 3: TransposeRuns<3>(in, width, height, pixel, out); break;
      default: TransposeRuns<0>(in, width, height, pixel, out); break;
    }
  }
}

}  // namespace sluice
