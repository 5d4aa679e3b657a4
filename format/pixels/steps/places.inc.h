// The places in the source of an affine map's target pixels (affine.h), and how pixels are mixed
// there. Included inside a namespace with SLUICE_INLINE defined as the functions' specifiers: once
// for the host, and once for devices (reader/device). IEEE 754 arithmetic in a fixed order, without
// fused steps. A map has AffineMap's members.

// Fine places, for a bilinear mean, are in 2^-32 pixels; coarse ones in 2^-16.
constexpr int kFine = 32, kCoarse = 16;

SLUICE_INLINE std::int64_t FinePlace(double value) noexcept {
  return static_cast<std::int64_t>(std::floor(value * 0x1p32 + 0.5));
}
SLUICE_INLINE std::int64_t CoarsePlace(double value) noexcept {
  return static_cast<std::int64_t>(std::floor(value * 65536 + 0.5));
}

// Places along a row of the target; its first pixel's centre lies half a pixel in.
template <class Map>
SLUICE_INLINE double RowX(const Map& map, double y) noexcept {
  return map.xx * 0.5 + map.xy * y + map.x0;
}
template <class Map>
SLUICE_INLINE double RowY(const Map& map, double y) noexcept {
  return map.yx * 0.5 + map.yy * y + map.y0;
}

template <int kFraction>
SLUICE_INLINE bool LiesInside(std::int64_t x, std::int64_t y, std::uint32_t width,
                              std::uint32_t height) noexcept {
  return x >= 0 && y >= 0 && x >> kFraction < width && y >> kFraction < height;
}

// The two pixels on either side of a fine place along an axis, and the second one's share in
// 1/2048.
struct Pair {
  std::uint32_t first, second, share;
};
SLUICE_INLINE Pair PairAt(std::int64_t place, std::uint32_t size) noexcept {
  const std::int64_t from_centre = place - (std::int64_t{1} << (kFine - 1));
  const std::int64_t whole = from_centre >> kFine;  // -1 at the least
  const std::int64_t last = std::int64_t{size} - 1;
  return {static_cast<std::uint32_t>(whole < 0 ? 0 : whole),
          static_cast<std::uint32_t>(whole < last ? whole + 1 : last),
          static_cast<std::uint32_t>(from_centre >> (kFine - 11)) & 2047U};
}

// Mixes one value of the two pixels above and the two below.
SLUICE_INLINE std::uint8_t MixedValue(const std::uint8_t* above, const std::uint8_t* below,
                                      std::size_t first, std::size_t second, std::uint32_t x_share,
                                      std::uint32_t y_share) noexcept {
  const std::uint32_t upper = above[first] * (2048 - x_share) + above[second] * x_share;
  const std::uint32_t lower = below[first] * (2048 - x_share) + below[second] * x_share;
  return static_cast<std::uint8_t>((upper * (2048 - y_share) + lower * y_share + (1U << 21)) >> 22);
}
