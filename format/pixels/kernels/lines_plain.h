// Lines of samples in plain C++: weighted sums, transposition, colour. This code defines what the
// other sets must give. Included inside a namespace of its own.

template <std::uint32_t kTaps>
SLUICE_INLINE void SumLinesOf(const LineSum& sum, std::size_t count, std::uint8_t* out) {
  const std::uint32_t taps = kTaps != 0 ? kTaps : sum.taps;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t total = taps / 2 + 128;
    for (std::uint32_t t = 0; t < taps; ++t)
      total += (std::uint32_t{sum.lines[t * sum.stride + i]} * 256 * sum.weights[t]) >> 16;
    out[i] = static_cast<std::uint8_t>((total > 65535 ? 65535 : total) >> 8);
  }
}

SLUICE_INLINE void TransposeTile(const std::uint8_t* in, std::size_t in_stride, std::uint8_t* out,
                                 std::size_t out_stride) {
  for (std::size_t y = 0; y < 16; ++y)
    for (std::size_t x = 0; x < 16; ++x)
      out[y * out_stride + x] = in[x * in_stride + y];
}

struct Rgb {
  std::uint8_t r, g, b;
};

// JFIF's equations with 16 bits of fraction, each product rounded as libjpeg does.
inline Rgb ToRgb(std::int32_t y, std::int32_t cb, std::int32_t cr) noexcept {
  const auto clamp = [](std::int32_t value) {
    return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
  };
  cb -= 128;
  cr -= 128;
  return {clamp(y + ((91881 * cr + 32768) >> 16)),
          clamp(y + ((-22554 * cb - 46802 * cr + 32768) >> 16)),
          clamp(y + ((116130 * cb + 32768) >> 16))};
}

inline void LineToRgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                      std::size_t count, std::uint8_t* rgb) {
  for (std::size_t i = 0; i < count; ++i) {
    const Rgb pixel = ToRgb(y[i], cb[i], cr[i]);
    rgb[3 * i] = pixel.r;
    rgb[3 * i + 1] = pixel.g;
    rgb[3 * i + 2] = pixel.b;
  }
}

inline void LineToPlanes(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                         std::size_t count, std::uint8_t* rgb, std::size_t stride) {
  std::uint8_t *const r = rgb, *const g = r + stride, *const b = g + stride;
  for (std::size_t i = 0; i < count; ++i) {
    const Rgb pixel = ToRgb(y[i], cb[i], cr[i]);
    r[i] = pixel.r;
    g[i] = pixel.g;
    b[i] = pixel.b;
  }
}

inline void JoinRgb(const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b,
                    std::size_t count, std::uint8_t* rgb) {
  for (std::size_t i = 0; i < count; ++i) {
    rgb[3 * i] = r[i];
    rgb[3 * i + 1] = g[i];
    rgb[3 * i + 2] = b[i];
  }
}

inline void SplitRgb(const std::uint8_t* rgb, std::size_t count, std::uint8_t* r, std::uint8_t* g,
                     std::uint8_t* b) {
  for (std::size_t i = 0; i < count; ++i) {
    r[i] = rgb[3 * i];
    g[i] = rgb[3 * i + 1];
    b[i] = rgb[3 * i + 2];
  }
}

inline void MirrorRgb(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(out + 3 * i, in + 3 * (count - 1 - i), 3);
}

// Whether Numbers8 is a vector. If so, ToFloats() is faster with it than as a plain loop, and
// rounding to 16 bits is faster than a table of the 256 values' numbers.
constexpr bool kRoundsFast = false;
constexpr bool kSplitsFast = false;

// Eight values as numbers, value * scale + offset, each rounded.
struct Numbers8 {
  float lane[8];
  static SLUICE_INLINE Numbers8 Of(const std::uint8_t* values, const float* scales,
                                   const float* offsets) noexcept {
    Numbers8 r;
    for (int i = 0; i < 8; ++i)
      r.lane[i] = static_cast<float>(values[i]) * scales[i] + offsets[i];
    return r;
  }
  SLUICE_INLINE void Store(float* out) const noexcept { std::memcpy(out, lane, sizeof(lane)); }

  // As IEEE 754 binary16, rounded to the nearest, ties to even. No NaN.
  SLUICE_INLINE void StoreHalves(std::uint16_t* out) const noexcept {
    constexpr std::uint32_t kHalf = 0x3F000000;      // 0.5, whose last bit is worth 2^-24
    constexpr std::uint32_t kNormal = 0x38800000;    // 2^-14, the least normal binary16
    constexpr std::uint32_t kInfinite = 0x477FF000;  // 65520, the first that becomes infinity
    for (int i = 0; i < 8; ++i) {
      std::uint32_t bits, small;
      std::memcpy(&bits, lane + i, 4);
      const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
      float number;
      std::memcpy(&number, &magnitude, 4);
      number += 0.5F;  // rounds to a multiple of 2^-24
      std::memcpy(&small, &number, 4);
      const std::uint32_t usual =
          (magnitude + 0xFFFU + (magnitude >> 13 & 1U) - (112U << 23)) >> 13;
      const std::uint32_t finite = magnitude < kNormal ? small - kHalf : usual;
      const std::uint32_t half = magnitude < kInfinite ? finite : 0x7C00U;
      out[i] = static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | half);
    }
  }

  // As bfloat16, the upper half of a float, rounded in the same way.
  SLUICE_INLINE void StoreBFloats(std::uint16_t* out) const noexcept {
    for (int i = 0; i < 8; ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, lane + i, 4);
      out[i] = static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
    }
  }
};
