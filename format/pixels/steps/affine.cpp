#include "format/pixels/steps/affine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sluice {

namespace {

// Places along a row of the target, in the source, in 2^-32 pixels.
constexpr int kFraction = 32;

std::int64_t Fixed(double value) noexcept {
  return static_cast<std::int64_t>(std::floor(value * 0x1p32 + 0.5));
}

struct Walk {
  std::int64_t x, y;
  std::int64_t x_step, y_step;

  Walk(const AffineMap& map, std::uint32_t line) noexcept
      : x(Fixed(map.X(0.5, line + 0.5))),
        y(Fixed(map.Y(0.5, line + 0.5))),
        x_step(Fixed(map.xx)),
        y_step(Fixed(map.yx)) {}
  void Step() noexcept {
    x += x_step;
    y += y_step;
  }
  bool Inside(std::uint32_t width, std::uint32_t height) const noexcept {
    return x >= 0 && y >= 0 && x >> kFraction < width && y >> kFraction < height;
  }
};

// The two pixels on either side of a place along an axis, and the share of the second in 1/2048.
struct Pair {
  std::uint32_t first, second, share;

  Pair(std::int64_t place, std::uint32_t size) noexcept {
    const std::int64_t from_centre = place - (std::int64_t{1} << (kFraction - 1));
    const std::int64_t whole = from_centre >> kFraction;  // -1 at the least
    first = static_cast<std::uint32_t>(std::max<std::int64_t>(whole, 0));
    second = static_cast<std::uint32_t>(std::min<std::int64_t>(whole + 1, std::int64_t{size} - 1));
    share = static_cast<std::uint32_t>(from_centre >> (kFraction - 11)) & 2047U;
  }
};

template <std::uint32_t kChannels>
void Bilinear(const Pixels& in, const AffineMap& to_source, const std::uint8_t* fill,
              const Pixels& out) noexcept {
  std::uint8_t* to = out.data;
  for (std::uint32_t line = 0; line < out.height; ++line) {
    Walk walk(to_source, line);
    for (std::uint32_t column = 0; column < out.width; ++column, walk.Step(), to += kChannels) {
      if (!walk.Inside(in.width, in.height)) {
        std::memcpy(to, fill, kChannels);
        continue;
      }
      const Pair x(walk.x, in.width);
      const Pair y(walk.y, in.height);
      const std::uint8_t* const above = in.data + std::size_t{y.first} * in.width * kChannels;
      const std::uint8_t* const below = in.data + std::size_t{y.second} * in.width * kChannels;
      for (std::uint32_t c = 0; c < kChannels; ++c) {
        const std::uint32_t a = x.first * kChannels + c;
        const std::uint32_t b = x.second * kChannels + c;
        const std::uint32_t upper = above[a] * (2048 - x.share) + above[b] * x.share;
        const std::uint32_t lower = below[a] * (2048 - x.share) + below[b] * x.share;
        to[c] = static_cast<std::uint8_t>(
            (upper * (2048 - y.share) + lower * y.share + (1U << 21)) >> 22);
      }
    }
  }
}

// `kBytes` a pixel; 0: `bytes`.
template <std::size_t kBytes>
void Nearest(const std::uint8_t* in, std::uint32_t width, std::uint32_t height, std::size_t bytes,
             const AffineMap& to_source, const std::uint8_t* fill, std::uint32_t out_width,
             std::uint32_t out_height, std::uint8_t* to) noexcept {
  const std::size_t pixel = kBytes != 0 ? kBytes : bytes;
  const auto fixed = [](double value) {
    return static_cast<std::int64_t>(std::floor(value * 65536 + 0.5));
  };
  const std::int64_t first_x = fixed(to_source.X(0.5, 0.5)), first_y = fixed(to_source.Y(0.5, 0.5));
  const std::int64_t xx = fixed(to_source.xx), xy = fixed(to_source.xy);
  const std::int64_t yx = fixed(to_source.yx), yy = fixed(to_source.yy);
  for (std::uint32_t line = 0; line < out_height; ++line) {
    std::int64_t x = first_x + line * xy;
    std::int64_t y = first_y + line * yy;
    for (std::uint32_t column = 0; column < out_width; ++column, x += xx, y += yx, to += pixel) {
      const bool inside = x >= 0 && y >= 0 && x >> 16 < width && y >> 16 < height;
      const std::uint8_t* const from = inside ? in + (static_cast<std::size_t>(y >> 16) * width +
                                                      static_cast<std::size_t>(x >> 16)) *
                                                         pixel
                                              : fill;
      std::memcpy(to, from, pixel);
    }
  }
}

}  // namespace

AffineMap AffineMap::Inverse() const noexcept {
  const double d = Determinant();
  AffineMap map{yy / d, -xy / d, 0, -yx / d, xx / d, 0};
  map.x0 = -(map.xx * x0 + map.xy * y0);
  map.y0 = -(map.yx * x0 + map.yy * y0);
  return map;
}

AffineMap operator*(const AffineMap& a, const AffineMap& b) noexcept {
  return {a.xx * b.xx + a.xy * b.yx, a.xx * b.xy + a.xy * b.yy, a.X(b.x0, b.y0),
          a.yx * b.xx + a.yy * b.yx, a.yx * b.xy + a.yy * b.yy, a.Y(b.x0, b.y0)};
}

void WarpBilinear(const Pixels& in, const AffineMap& to_source,
                  const std::array<std::uint8_t, 3>& fill, const Pixels& out) noexcept {
  if (in.channels == 3) {
    Bilinear<3>(in, to_source, fill.data(), out);
  } else {
    Bilinear<1>(in, to_source, fill.data(), out);
  }
}

void WarpNearest(const Pixels& in, const AffineMap& to_source,
                 const std::array<std::uint8_t, 3>& fill, const Pixels& out) noexcept {
  if (in.channels == 3) {
    Nearest<3>(in.data, in.width, in.height, 3, to_source, fill.data(), out.width, out.height,
               out.data);
  } else {
    Nearest<1>(in.data, in.width, in.height, 1, to_source, fill.data(), out.width, out.height,
               out.data);
  }
}

void WarpRuns(const std::uint8_t* in, std::uint32_t width, std::uint32_t height,
              std::size_t pixel_bytes, const AffineMap& to_source, std::uint8_t* out) noexcept {
  constexpr std::uint8_t kZeros[2048] = {};
  Nearest<0>(in, width, height, pixel_bytes, to_source, kZeros, width, height, out);
}

}  // namespace sluice
