// Lines of samples in AVX2. Included inside a namespace of its own.

// Makes thirty-two outputs at a time from kTaps taps each (sum.taps if kTaps is 0). Each byte goes
// into the high half of a 16-bit lane, so that the high half of its product with a 16-bit weight is
// its contribution in 1/256.
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

// Thirty-two pixels as red, green and blue.
struct Rgb32 {
  __m256i r, g, b;
};

// The amounts added to Y for red and for blue depend on one byte each, cr or cb. For all 256 values
// of that byte, the rounded high half of a product equals the definition (lines_plain.h): 2 * cr *
// 22970 / 2^15 stands for 91881 * cr / 2^16, and 2 * cb * 29033 / 2^15 for 116130 * cb / 2^16.
// Green's constants are even, so half of each with a shift of 15 instead of 16 gives the same.
SLUICE_INLINE Rgb32 ToRgb32(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i middle = _mm256_set1_epi16(128);
  const __m256i half = _mm256_set1_epi32(16384);
  const __m256i of_g = _mm256_set1_epi32(-23401 * 65536 | (-11277 & 0xFFFF));
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
    const auto sum = [&](__m256i pairs) {
      return _mm256_srai_epi32(_mm256_add_epi32(_mm256_madd_epi16(pairs, of_g), half), 15);
    };
    const __m256i green = _mm256_packs_epi32(sum(_mm256_unpacklo_epi16(blue, red)),
                                             sum(_mm256_unpackhi_epi16(blue, red)));
    const auto product = [](__m256i v, short weight) {
      return _mm256_mulhrs_epi16(_mm256_add_epi16(v, v), _mm256_set1_epi16(weight));
    };
    r[i] = _mm256_add_epi16(luma, product(red, 22970));
    g[i] = _mm256_add_epi16(luma, green);
    b[i] = _mm256_add_epi16(luma, product(blue, 29033));
  }
  return {_mm256_packus_epi16(r[0], r[1]), _mm256_packus_epi16(g[0], g[1]),
          _mm256_packus_epi16(b[0], b[1])};
}

// The shuffles that turn sixteen pixels into three groups of sixteen interleaved bytes. Byte i of
// group q holds colour (16 q + i) % 3 of pixel (16 q + i) / 3. Since 16 % 3 is 1, each colour has
// place i in one group only, and one shuffle serves all three groups.
struct InterleaveTable {
  alignas(32) signed char pick[3][32] = {};    // by colour, twice for the two halves of a vector
  alignas(32) signed char unpick[3][32] = {};  // by colour: puts the picked bytes back
  alignas(32) signed char third[2][32] = {};   // ones where i % 3 is 0, or 1
  constexpr InterleaveTable() {
    for (int i = 0; i < 32; ++i) {
      const int at = i % 16;
      for (int colour = 0; colour < 3; ++colour) {
        const int group = (colour + 2 * at) % 3;
        const int pixel = (16 * group + at) / 3;
        pick[colour][i] = static_cast<signed char>(pixel);
        unpick[colour][i - at + pixel] = static_cast<signed char>(at);
      }
      third[0][i] = at % 3 == 0 ? -1 : 0;
      third[1][i] = at % 3 == 1 ? -1 : 0;
    }
  }
};
inline constexpr InterleaveTable kInterleave;

// Thirty-two pixels, interleaved: 96 bytes.
SLUICE_INLINE void StoreRgb32(const Rgb32& p, std::uint8_t* out) {
  const auto load = [](const signed char* table) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(table));
  };
  const __m256i r = _mm256_shuffle_epi8(p.r, load(kInterleave.pick[0]));
  const __m256i g = _mm256_shuffle_epi8(p.g, load(kInterleave.pick[1]));
  const __m256i b = _mm256_shuffle_epi8(p.b, load(kInterleave.pick[2]));
  const __m256i first = load(kInterleave.third[0]);
  const __m256i second = load(kInterleave.third[1]);
  // In each half: makes the group of sixteen bytes that begins with the colour `begins`.
  const auto group = [&](__m256i begins, __m256i follows, __m256i last) {
    return _mm256_blendv_epi8(_mm256_blendv_epi8(last, follows, second), begins, first);
  };
  const __m256i group0 = group(r, g, b);
  const __m256i group1 = group(g, b, r);
  const __m256i group2 = group(b, r, g);
  const auto store = [out](int at, __m256i v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), v);
  };
  store(0, _mm256_permute2x128_si256(group0, group1, 0x20));
  store(32, _mm256_blend_epi32(group2, group0, 0xF0));
  store(64, _mm256_permute2x128_si256(group1, group2, 0x31));
}

// Stores exactly `count` pixels, interleaved. load(i) gives 32 of them, from number i on.
template <class Load>
SLUICE_INLINE void StoreLine(const Load& load, std::size_t count, std::uint8_t* rgb) {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32)
    StoreRgb32(load(i), rgb + 3 * i);
  if (i < count) {
    std::uint8_t last[96];
    StoreRgb32(load(i), last);
    std::memcpy(rgb + 3 * i, last, 3 * (count - i));
  }
}

inline void LineToRgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                      std::size_t count, std::uint8_t* rgb) {
  StoreLine([=](std::size_t i) { return ToRgb32(y + i, cb + i, cr + i); }, count, rgb);
}

inline void LineToPlanes(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                         std::size_t count, std::uint8_t* rgb, std::size_t stride) {
  std::uint8_t *const r = rgb, *const g = r + stride, *const b = g + stride;
  for (std::size_t i = 0; i < count; i += 32) {
    const Rgb32 pixels = ToRgb32(y + i, cb + i, cr + i);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(r + i), pixels.r);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(g + i), pixels.g);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(b + i), pixels.b);
  }
}

inline void JoinRgb(const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b,
                    std::size_t count, std::uint8_t* rgb) {
  const auto load = [=](std::size_t i) {
    const auto from = [i](const std::uint8_t* line) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line + i));
    };
    return Rgb32{from(r), from(g), from(b)};
  };
  StoreLine(load, count, rgb);
}

// Thirty-two interleaved pixels split by colour: the inverse of StoreRgb32.
SLUICE_INLINE Rgb32 LoadRgb32(const std::uint8_t* rgb) {
  const auto load = [rgb](int at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rgb + at));
  };
  const __m256i a = load(0);
  const __m256i b = load(32);
  const __m256i c = load(64);
  // Groups of sixteen bytes, in both halves.
  const __m256i group0 = _mm256_blend_epi32(a, b, 0xF0);
  const __m256i group1 = _mm256_permute2x128_si256(a, c, 0x21);
  const __m256i group2 = _mm256_blend_epi32(b, c, 0xF0);
  const auto table = [](const signed char* bytes) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes));
  };
  const __m256i first = table(kInterleave.third[0]);
  const __m256i second = table(kInterleave.third[1]);
  const auto pick = [&](__m256i begins, __m256i follows, __m256i last) {
    return _mm256_blendv_epi8(_mm256_blendv_epi8(last, follows, second), begins, first);
  };
  // Place i of group q holds colour (q + i) % 3: colour 0 where i % 3 is 0 in group 0, 2 in group 1
  // and 1 in group 2.
  return {_mm256_shuffle_epi8(pick(group0, group2, group1), table(kInterleave.unpick[0])),
          _mm256_shuffle_epi8(pick(group1, group0, group2), table(kInterleave.unpick[1])),
          _mm256_shuffle_epi8(pick(group2, group1, group0), table(kInterleave.unpick[2]))};
}

inline void SplitRgb(const std::uint8_t* rgb, std::size_t count, std::uint8_t* r, std::uint8_t* g,
                     std::uint8_t* b) {
  const auto store = [&](const Rgb32& pixels, std::size_t i) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(r + i), pixels.r);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(g + i), pixels.g);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(b + i), pixels.b);
  };
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32)
    store(LoadRgb32(rgb + 3 * i), i);
  if (i < count) {
    std::uint8_t last[96] = {};
    std::memcpy(last, rgb + 3 * i, 3 * (count - i));
    store(LoadRgb32(last), i);
  }
}

inline void MirrorRgb(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  // Five pixels, 15 bytes, at a time. The 16th byte of a store is not valid; the next store
  // overwrites it with its first byte.
  const __m128i order = _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0);
  std::size_t left = count;
  for (; left >= 6; left -= 5, out += 15) {
    const __m128i pixels = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 3 * left - 16));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(pixels, order));
  }
  for (; left > 0; --left, out += 3)
    std::memcpy(out, in + 3 * (left - 1), 3);
}

constexpr bool kRoundsFast = true;
constexpr bool kSplitsFast = true;

// As lines_plain.h defines it.
struct Numbers8 {
  __m256 v;
  static SLUICE_INLINE Numbers8 Of(const std::uint8_t* values, const float* scales,
                                   const float* offsets) noexcept {
    const __m256i wide =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(values)));
    const __m256 products = _mm256_mul_ps(_mm256_cvtepi32_ps(wide), _mm256_loadu_ps(scales));
    return {_mm256_add_ps(products, _mm256_loadu_ps(offsets))};
  }
  SLUICE_INLINE void Store(float* out) const noexcept { _mm256_storeu_ps(out, v); }
  SLUICE_INLINE void StoreHalves(std::uint16_t* out) const noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  SLUICE_INLINE void StoreBFloats(std::uint16_t* out) const noexcept {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
    const __m256i high = _mm256_srli_epi32(up, 16);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(out),
        _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1)));
  }
};
