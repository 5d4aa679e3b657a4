// Lines of samples in AVX2. Included inside a namespace of its own.

// Thirty-two outputs at a time. Bytes are put into the high halves of 16-bit lanes, so that the
// high half of the product with a 16-bit weight is the contribution in 1/256.
template <std::uint32_t kTaps>
SLUICE_INLINE void SumLinesOf(const LineSum& sum, std::size_t count, std::uint8_t* out) {
  const std::uint32_t taps = kTaps != 0 ? kTaps : sum.taps;
  const __m256i zero = _mm256_setzero_si256();
  const __m256i bias = _mm256_set1_epi16(static_cast<short>(taps / 2 + 128));
  __m256i weight[kTaps != 0 ? kTaps : 1];
  for (std::uint32_t t = 0; t < kTaps; ++t) {
    weight[t] = _mm256_set1_epi16(static_cast<short>(sum.weights[t]));
  }
  for (std::size_t i = 0; i < count; i += 32) {
    __m256i low = bias;
    __m256i high = bias;
    const std::uint8_t* line = sum.lines + i;
    for (std::uint32_t t = 0; t < taps; ++t, line += sum.stride) {
      const __m256i samples = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line));
      const __m256i w =
          kTaps != 0 ? weight[t] : _mm256_set1_epi16(static_cast<short>(sum.weights[t]));
      low = _mm256_adds_epu16(low, _mm256_mulhi_epu16(_mm256_unpacklo_epi8(zero, samples), w));
      high = _mm256_adds_epu16(high, _mm256_mulhi_epu16(_mm256_unpackhi_epi8(zero, samples), w));
    }
    const __m256i result =
        _mm256_packus_epi16(_mm256_srli_epi16(low, 8), _mm256_srli_epi16(high, 8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), result);
  }
}

inline void SumLines(const LineSum& sum, std::size_t count, std::uint8_t* out) {
  switch (sum.taps) {
    case 1: return SumLinesOf<1>(sum, count, out);
    case 2: return SumLinesOf<2>(sum, count, out);
    case 3: return SumLinesOf<3>(sum, count, out);
    case 4: return SumLinesOf<4>(sum, count, out);
    case 5: return SumLinesOf<5>(sum, count, out);
    case 6: return SumLinesOf<6>(sum, count, out);
    default: return SumLinesOf<0>(sum, count, out);
  }
}

// Sixteen columns of sixteen bytes.
SLUICE_INLINE void TransposeTile(const std::uint8_t* in, std::size_t in_stride, std::uint8_t* out,
                                 std::size_t out_stride) {
  __m128i a[16];
  __m128i b[16];
  for (std::size_t i = 0; i < 16; ++i) {
    a[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i * in_stride));
  }
  // Interleaving i with i + 8 four times is a transposition.
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 8; ++i) {
      b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
      b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
    }
    for (int i = 0; i < 16; ++i)
      a[i] = b[i];
  }
  for (std::size_t i = 0; i < 16; ++i) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i * out_stride), a[i]);
  }
}

inline void Transpose(const std::uint8_t* in, std::size_t in_stride, std::size_t columns,
                      std::size_t rows, std::uint8_t* out, std::size_t out_stride) {
  for (std::size_t x = 0; x < columns; x += 16) {
    for (std::size_t y = 0; y < rows; y += 16) {
      TransposeTile(in + x * in_stride + y, in_stride, out + y * out_stride + x, out_stride);
    }
  }
}

// Thirty-two pixels as red, green and blue. The constants above one half of 16 bits are split into
// whole multiples of the sample and a rest that fits: 91881 = 65536 + 26345, -46802 = -65536 +
// 18734, 116130 = 131072 - 14942.
struct Rgb32 {
  __m256i r, g, b;
};

SLUICE_INLINE Rgb32 ToRgb32(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i middle = _mm256_set1_epi16(128);
  const __m256i half = _mm256_set1_epi32(32768);
  const __m256i of_r = _mm256_set1_epi32(26345 << 16);  // cb * 0 + cr * 26345
  const __m256i of_g = _mm256_set1_epi32(18734 << 16 | (-22554 & 0xFFFF));
  const __m256i of_b = _mm256_set1_epi32(-14942 & 0xFFFF);
  const __m256i y8 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(y));
  const __m256i cb8 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(cb));
  const __m256i cr8 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(cr));
  __m256i r[2];
  __m256i g[2];
  __m256i b[2];
  for (int i = 0; i < 2; ++i) {
    const auto widen = [&](__m256i v) {
      return i == 0 ? _mm256_unpacklo_epi8(v, zero) : _mm256_unpackhi_epi8(v, zero);
    };
    const __m256i luma = widen(y8);
    const __m256i blue = _mm256_sub_epi16(widen(cb8), middle);
    const __m256i red = _mm256_sub_epi16(widen(cr8), middle);
    const __m256i low = _mm256_unpacklo_epi16(blue, red);
    const __m256i high = _mm256_unpackhi_epi16(blue, red);
    const auto product = [&](__m256i weights) {
      return _mm256_packs_epi32(
          _mm256_srai_epi32(_mm256_add_epi32(_mm256_madd_epi16(low, weights), half), 16),
          _mm256_srai_epi32(_mm256_add_epi32(_mm256_madd_epi16(high, weights), half), 16));
    };
    r[i] = _mm256_add_epi16(_mm256_add_epi16(luma, red), product(of_r));
    g[i] = _mm256_add_epi16(_mm256_sub_epi16(luma, red), product(of_g));
    b[i] = _mm256_add_epi16(_mm256_add_epi16(luma, _mm256_add_epi16(blue, blue)), product(of_b));
  }
  return {_mm256_packus_epi16(r[0], r[1]), _mm256_packus_epi16(g[0], g[1]),
          _mm256_packus_epi16(b[0], b[1])};
}

// Sixteen pixels, interleaved: 48 bytes.
SLUICE_INLINE void StoreRgb16(__m128i r, __m128i g, __m128i b, std::uint8_t* out) {
  const auto part = [&](const signed char* of_r, const signed char* of_g, const signed char* of_b) {
    const auto pick = [](__m128i v, const signed char* from) {
      return _mm_shuffle_epi8(v, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    };
    return _mm_or_si128(_mm_or_si128(pick(r, of_r), pick(g, of_g)), pick(b, of_b));
  };
  static constexpr signed char kR[3][16] = {
      {0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5},
      {-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1},
      {-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1}};
  static constexpr signed char kG[3][16] = {
      {-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1},
      {5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10},
      {-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1}};
  static constexpr signed char kB[3][16] = {
      {-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1},
      {-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1},
      {10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15}};
  for (int i = 0; i < 3; ++i) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * i), part(kR[i], kG[i], kB[i]));
  }
}

inline void LineToRgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                      std::size_t count, std::uint8_t* rgb) {
  const auto store = [](const Rgb32& p, std::uint8_t* out) {
    StoreRgb16(_mm256_castsi256_si128(p.r), _mm256_castsi256_si128(p.g),
               _mm256_castsi256_si128(p.b), out);
    StoreRgb16(_mm256_extracti128_si256(p.r, 1), _mm256_extracti128_si256(p.g, 1),
               _mm256_extracti128_si256(p.b, 1), out + 48);
  };
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32)
    store(ToRgb32(y + i, cb + i, cr + i), rgb + 3 * i);
  if (i < count) {
    std::uint8_t last[96];
    store(ToRgb32(y + i, cb + i, cr + i), last);
    std::memcpy(rgb + 3 * i, last, 3 * (count - i));
  }
}

inline void LineToPlanes(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                         std::size_t count, std::uint8_t* r, std::uint8_t* g, std::uint8_t* b) {
  for (std::size_t i = 0; i < count; i += 32) {
    const Rgb32 pixels = ToRgb32(y + i, cb + i, cr + i);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(r + i), pixels.r);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(g + i), pixels.g);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(b + i), pixels.b);
  }
}
