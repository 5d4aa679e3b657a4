// To these functions a pixel is a run of bytes. An interleaved target is one picture of runs of
// several bytes; a planar one is a picture for each channel, whose runs are single values.
// Reflect() first fills the columns left and right of the picture, and then copies whole lines
// above and below it: that order also fills the corners. TransposePixels() works in tiles, because
// lines of one picture are columns of the other.
#include "format/pixels/lines.h"

#include <algorithm>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sluice {

namespace {

// The part of a target's axis that shows the picture.
struct Shown {
  std::uint32_t begin = 0, count = 0, target = 0;

  Shown(const Span& span, bool mirrored) noexcept
      : begin(mirrored ? span.target - span.at - span.out : span.at),
        count(span.out),
        target(span.target) {}
  bool Has(std::uint32_t at) const noexcept { return at >= begin && at - begin < count; }
  // `at` lies outside the picture: returns the place inside it that is reflected there. count > 0.
  std::uint32_t Mirrored(std::uint32_t at) const noexcept {
    if (count == 1) return begin;
    const std::int64_t period = 2 * (std::int64_t{count} - 1);
    std::int64_t offset = (std::int64_t{at} - begin) % period;
    if (offset < 0) offset += period;
    return begin + static_cast<std::uint32_t>(std::min(offset, period - offset));
  }
};

// A picture whose pixels are runs of bytes.
struct Runs {
  std::uint8_t* data;
  std::size_t pixel;  // bytes of a pixel

  std::uint8_t* At(const Shown& x, std::uint32_t column, std::uint32_t line) const noexcept {
    return data + (std::size_t{line} * x.target + column) * pixel;
  }
};

void Reflect(const Runs& runs, const Shown& x, const Shown& y) noexcept {
  for (std::uint32_t line = y.begin; line < y.begin + y.count; ++line) {
    for (std::uint32_t column = 0; column < x.target; ++column) {
      if (x.Has(column)) continue;
      std::memcpy(runs.At(x, column, line), runs.At(x, x.Mirrored(column), line), runs.pixel);
    }
  }
  for (std::uint32_t line = 0; line < y.target; ++line) {
    if (y.Has(line)) continue;
    std::memcpy(runs.At(x, 0, line), runs.At(x, 0, y.Mirrored(line)), x.target * runs.pixel);
  }
}

}  // namespace

PixelRect ShownOf(const Region& region) noexcept {
  PixelRect part;
  const auto axis = [](const Span& span, bool mirrored, std::uint32_t& begin, std::uint32_t& end) {
    begin = mirrored ? span.target - span.at - span.out : span.at;
    end = begin + span.out;
  };
  axis(region.x, region.flip, part.left, part.right);
  axis(region.y, region.flip_y, part.top, part.bottom);
  if (region.transpose) {
    std::swap(part.left, part.top);
    std::swap(part.right, part.bottom);
  }
  return part;
}

void FillOutside(std::span<const PixelRect> shown, const Pixels& pixels,
                 const std::uint8_t* value) noexcept {
  const std::size_t pixel = pixels.channels;
  const bool one_byte =
      std::all_of(value, value + pixel, [&](auto byte) { return byte == *value; });
  const auto fill = [&](std::uint8_t* to, std::size_t bytes) {
    if (one_byte) {
      std::memset(to, *value, bytes);
      return;
    }
    for (std::uint8_t* const end = to + bytes; to != end; to += pixel)
      std::memcpy(to, value, pixel);
  };
  const std::size_t line = pixels.width * pixel;
  // Bands of lines that are alike: up to where the next rectangle begins or ends.
  for (std::uint32_t top = 0, bottom; top < pixels.height; top = bottom) {
    bottom = pixels.height;
    for (const PixelRect& one : shown) {
      for (const std::uint32_t edge : {one.top, one.bottom})
        if (edge > top) bottom = std::min(bottom, edge);
    }
    std::uint8_t* const band = pixels.data + top * line;
    // From left to right: up to the next rectangle in the band, and then behind it.
    for (std::uint32_t x = 0, end; x < pixels.width; x = end) {
      const PixelRect* next = nullptr;
      for (const PixelRect& one : shown) {
        const bool meets = one.top <= top && top < one.bottom && std::max(x, one.left) < one.right;
        if (meets && (next == nullptr || one.left < next->left)) next = &one;
      }
      if (next == nullptr && x == 0) {
        fill(band, (bottom - top) * line);
        break;
      }
      const std::uint32_t gap_end = next != nullptr ? next->left : pixels.width;
      for (std::uint32_t y = 0; x < gap_end && y < bottom - top; ++y)
        fill(band + y * line + x * pixel, (gap_end - x) * pixel);
      end = next != nullptr ? next->right : pixels.width;
    }
  }
}

void FillBorder(const Region& region, const PixelTarget& target, std::size_t value_bytes) noexcept {
  if (!region.bordered()) return;
  const bool shows = region.x.out > 0 && region.y.out > 0;
  if (region.reflect ? !shows : value_bytes != 1) return;
  const Shown x(region.x, region.flip);
  const Shown y(region.y, region.flip_y);
  const PixelRect shown = ShownOf(region);
  std::uint8_t colour[256] = {};  // of a fourth channel, 0
  std::ranges::copy(region.fill, colour);
  const bool planar = target.order == PixelOrder::kPlanar;
  const auto pixel = static_cast<std::uint32_t>(value_bytes * (planar ? 1 : target.channels));
  Pixels part{target.data, x.target, y.target, pixel};
  for (std::size_t i = 0; i < (planar ? target.channels : 1); ++i) {
    if (region.reflect) {
      Reflect({part.data, pixel}, x, y);
    } else {
      FillOutside({&shown, 1}, part, colour + i);
    }
    part.data += part.bytes();
  }
}

namespace {

// The side of a tile, in pixels. A tile's lines of both pictures fit into the first cache.
constexpr std::uint32_t kTurnTile = 32;

// Pixels have kPixel bytes, or `pixel` bytes if kPixel is 0.
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

Region WithoutBorder(const Region& region) noexcept {
  Region alone = region;
  alone.x.at = alone.y.at = 0;
  alone.x.target = alone.x.out;
  alone.y.target = alone.y.out;
  return alone;
}

void PlacePixels(const std::uint8_t* picture, const Region& region, const PixelTarget& target,
                 std::size_t value_bytes) noexcept {
  Shown x(region.x, region.flip), y(region.y, region.flip_y);
  if (region.transpose) std::swap(x, y);
  const bool planar = target.order == PixelOrder::kPlanar;
  const std::size_t pixel = value_bytes * (planar ? 1 : target.channels);
  const std::size_t line = x.count * pixel;
  std::uint8_t* plane = target.data;
  for (std::size_t part = 0; part < (planar ? target.channels : 1); ++part) {
    const Runs runs{plane, pixel};
    for (std::uint32_t row = 0; row < y.count; ++row, picture += line)
      std::memcpy(runs.At(x, x.begin, y.begin + row), picture, line);
    plane += std::size_t{x.target} * y.target * pixel;
  }
}

void StreamLines(const std::uint8_t* in, std::size_t in_stride, std::size_t bytes,
                 std::size_t count, std::uint8_t* out, std::size_t out_stride) noexcept {
  for (; count > 0; --count, in += in_stride, out += out_stride) {
    std::size_t at = 0;
#ifdef __SSE2__
    constexpr std::size_t kVector = sizeof(__m128i);
    at = std::min((kVector - reinterpret_cast<std::uintptr_t>(out) % kVector) % kVector, bytes);
    std::memcpy(out, in, at);
    for (; at + kVector <= bytes; at += kVector) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(out + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + at)));
    }
#endif
    std::memcpy(out + at, in + at, bytes - at);
  }
#ifdef __SSE2__
  // Streaming stores are not ordered with others: a thread that learns that the copy is
  // done must see them.
  _mm_sfence();
#endif
}

}  // namespace sluice
