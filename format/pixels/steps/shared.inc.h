// Arithmetic that the host and devices share: where in the source the target pixels of an affine
// map lie, how places beyond an edge are mirrored, and the new values that kEqualize and kStretch
// give.
//
// Include it inside a namespace, with SLUICE_INLINE defined as the functions' specifiers: once
// for the host, and once for devices (reader/device).
//
// Both must compute IEEE 754 arithmetic in the order written here, without fused multiply-adds. A
// Map is a type with AffineMap's members.

// Fine places, for WarpBilinear(), are in 2^-32 pixels; coarse ones, for WarpNearest(), in 2^-16.
constexpr int kFine = 32, kCoarse = 16;

SLUICE_INLINE std::int64_t FinePlace(double value) noexcept {
  return static_cast<std::int64_t>(std::floor(value * 0x1p32 + 0.5));
}
SLUICE_INLINE std::int64_t CoarsePlace(double value) noexcept {
  return static_cast<std::int64_t>(std::floor(value * 65536 + 0.5));
}

// The place in the source of the centre of a target row's first pixel. `y`: the row's centre.
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
// 1/32768.
struct Pair {
  std::uint32_t first, second;
  int share;
};
SLUICE_INLINE Pair PairAt(std::int64_t place, std::uint32_t size) noexcept {
  const std::int64_t from_centre = place - (std::int64_t{1} << (kFine - 1));
  const std::int64_t whole = from_centre >> kFine;  // -1 or more
  const std::int64_t last = std::int64_t{size} - 1;
  return {static_cast<std::uint32_t>(whole < 0 ? 0 : whole),
          static_cast<std::uint32_t>(whole < last ? whole + 1 : last),
          static_cast<int>(from_centre >> (kFine - 15)) & 32767};
}

// The index mirrored into 0 .. size - 1. It must lie less than `size` outside.
template <class Integer>
SLUICE_INLINE Integer Mirrored(Integer index, Integer size) noexcept {
  if (index < 0) return -index;
  return index < size ? index : 2 * (size - 1) - index;
}

// The new values of kEqualize, by how often a channel has each value, and of kStretch, by its least
// and its greatest value:

// The number of pixels for one step of the equalized values, or 0 if nothing changes. `last`: how
// many pixels have the greatest value that occurs.
SLUICE_INLINE std::uint64_t EqualStep(std::uint64_t pixels, std::uint64_t last) noexcept {
  return (pixels - last) / 255;
}
// The new value for a value; `below`: how many pixels have a smaller one.
SLUICE_INLINE std::uint8_t EqualValue(std::uint64_t below, std::uint64_t step) noexcept {
  const std::uint64_t value = (step / 2 + below) / step;
  return static_cast<std::uint8_t>(value < 255 ? value : 255);
}

// The scale for values from `low` to `high`; high > low.
SLUICE_INLINE double StretchScale(int low, int high) noexcept {
  return 255.0 / (high - low);
}
SLUICE_INLINE std::uint8_t StretchedValue(int value, int low, double scale) noexcept {
  const double offset = -low * scale;
  const double stretched = value * scale + offset;
  const double above = stretched < 0.0 ? 0.0 : stretched;
  return static_cast<std::uint8_t>(above > 255.0 ? 255.0 : above);
}
