#include "format/pixels/steps/affine.h"

#include <cmath>
#include <cstring>

namespace sluice {

namespace {

#define SLUICE_INLINE inline
#include "format/pixels/steps/places.inc.h"
#undef SLUICE_INLINE

template <std::uint32_t kChannels>
void Bilinear(const Pixels& in, const AffineMap& to_source, const std::uint8_t* fill,
              const Pixels& out) noexcept {
  std::uint8_t* to = out.data;
  const std::int64_t xx = FinePlace(to_source.xx), yx = FinePlace(to_source.yx);
  for (std::uint32_t line = 0; line < out.height; ++line) {
    std::int64_t at_x = FinePlace(RowX(to_source, line + 0.5));
    std::int64_t at_y = FinePlace(RowY(to_source, line + 0.5));
    for (std::uint32_t column = 0; column < out.width;
         ++column, at_x += xx, at_y += yx, to += kChannels) {
      if (!LiesInside<kFine>(at_x, at_y, in.width, in.height)) {
        std::memcpy(to, fill, kChannels);
        continue;
      }
      const Pair x = PairAt(at_x, in.width);
      const Pair y = PairAt(at_y, in.height);
      const std::uint8_t* const above = in.data + std::size_t{y.first} * in.width * kChannels;
      const std::uint8_t* const below = in.data + std::size_t{y.second} * in.width * kChannels;
      for (std::uint32_t c = 0; c < kChannels; ++c) {
        to[c] = MixedValue(above, below, x.first * kChannels + c, x.second * kChannels + c, x.share,
                           y.share);
      }
    }
  }
}

// `kBytes` bytes a pixel, or `bytes` if it is 0.
template <std::size_t kBytes>
void Nearest(const std::uint8_t* in, std::uint32_t width, std::uint32_t height, std::size_t bytes,
             const AffineMap& to_source, const std::uint8_t* fill, std::uint32_t out_width,
             std::uint32_t out_height, std::uint8_t* to) noexcept {
  const std::size_t pixel = kBytes != 0 ? kBytes : bytes;
  const std::int64_t first_x = CoarsePlace(RowX(to_source, 0.5));
  const std::int64_t first_y = CoarsePlace(RowY(to_source, 0.5));
  const std::int64_t xx = CoarsePlace(to_source.xx), xy = CoarsePlace(to_source.xy);
  const std::int64_t yx = CoarsePlace(to_source.yx), yy = CoarsePlace(to_source.yy);
  for (std::uint32_t line = 0; line < out_height; ++line) {
    std::int64_t x = first_x + line * xy;
    std::int64_t y = first_y + line * yy;
    for (std::uint32_t column = 0; column < out_width; ++column, x += xx, y += yx, to += pixel) {
      const bool inside = LiesInside<kCoarse>(x, y, width, height);
      const std::uint8_t* const from = inside
                                           ? in + (static_cast<std::size_t>(y >> kCoarse) * width +
                                                   static_cast<std::size_t>(x >> kCoarse)) *
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
              std::size_t pixel_bytes, const AffineMap& to_source, const std::uint8_t* fill,
              std::uint8_t* out) noexcept {
  Nearest<0>(in, width, height, pixel_bytes, to_source, fill, width, height, out);
}

}  // namespace sluice
