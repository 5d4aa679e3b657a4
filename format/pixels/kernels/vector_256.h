// The vector operations of the kernels in 256 bits: a block in each 128-bit half. Included inside a
// namespace of its own, by vector_avx2.h and vector_avx512.h, which add the zigzag order.

struct Wide32x2 {
  __m256i v;
  static SLUICE_INLINE Wide32x2 All(std::int32_t value) noexcept {
    return {_mm256_set1_epi32(value)};
  }
  template <int kBits>
  SLUICE_INLINE Wide32x2 Right() const noexcept {
    return {_mm256_srai_epi32(v, kBits)};
  }
};
SLUICE_INLINE Wide32x2 operator+(const Wide32x2& a, const Wide32x2& b) noexcept {
  return {_mm256_add_epi32(a.v, b.v)};
}
SLUICE_INLINE Wide32x2 operator-(const Wide32x2& a, const Wide32x2& b) noexcept {
  return {_mm256_sub_epi32(a.v, b.v)};
}

// Spreads the consecutive bytes at `in` to the places of the mask's ones; zeros elsewhere. Reads
// eight bytes.
SLUICE_INLINE __m128i Expanded(const std::uint8_t* in, std::uint8_t mask) noexcept {
  return _mm_shuffle_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(in)),
                          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kExpand.shuffle[mask])));
}
SLUICE_INLINE std::uint64_t ExpandBytes(const std::uint8_t* in, std::uint8_t mask) noexcept {
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(Expanded(in, mask)));
}
// Like ExpandBytes(), for signed 8-bit values, which are widened to 16 bits.
SLUICE_INLINE void ExpandLine(const std::uint8_t* in, std::uint8_t mask,
                              std::int16_t* out) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_cvtepi8_epi16(Expanded(in, mask)));
}

// Unpacks signed 4-bit values to bytes, the low half of a byte first; -8 stands for the next byte
// of `more`. Writes up to 15 bytes more than `count`, and reads up to 15 more bytes. False if
// `more` ends too early.
inline bool UnpackNibbles(const std::uint8_t* in, std::size_t count, const std::uint8_t* more,
                          const std::uint8_t* more_end, std::uint8_t* out) noexcept {
  const __m128i low = _mm_set1_epi8(15);
  const __m128i escape = _mm_set1_epi8(8);
  const __m128i meaning = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 0, -7, -6, -5, -4, -3, -2, -1);
  for (std::size_t i = 0; i < count; i += 16) {
    const __m128i pairs = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + i / 2));
    const __m128i nibbles =
        _mm_unpacklo_epi8(_mm_and_si128(pairs, low), _mm_and_si128(_mm_srli_epi16(pairs, 4), low));
    auto escapes = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(nibbles, escape)));
    if (count - i < 16) escapes &= (1U << (count - i)) - 1;
    const __m128i first = Expanded(more, static_cast<std::uint8_t>(escapes));
    more += __builtin_popcount(escapes & 255);
    // `more` may be up to eight bytes beyond `more_end` here. This read of eight bytes still ends
    // within the 16 bytes that may be read after it (kernels.h).
    const __m128i second = Expanded(more, static_cast<std::uint8_t>(escapes >> 8));
    more += __builtin_popcount(escapes >> 8);
    if (more > more_end) return false;
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(out + i),
        _mm_or_si128(_mm_shuffle_epi8(meaning, nibbles), _mm_unpacklo_epi64(first, second)));
  }
  return true;
}

struct Vector16x2 {
  using Wide = Wide32x2;
  static constexpr int kBlocks = 2;
  __m256i v;
  static SLUICE_INLINE Vector16x2 LoadTwice(const std::int16_t* a) noexcept {
    return {_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a)))};
  }
  static SLUICE_INLINE Vector16x2 LoadTwice(const std::uint16_t* a) noexcept {
    return {_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a)))};
  }
  // As many values in a row as a vector holds.
  static SLUICE_INLINE Vector16x2 LoadRun(const std::int16_t* from) noexcept {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
  }
  SLUICE_INLINE void StoreRun(std::int16_t* to) const noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
  }
  // Eight samples of each block, minus 128.
  static SLUICE_INLINE Vector16x2 LoadSamples(const std::uint8_t* a,
                                              const std::uint8_t* b) noexcept {
    const __m128i both = _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(a)),
                                            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(b)));
    return {_mm256_sub_epi16(_mm256_cvtepu8_epi16(both), _mm256_set1_epi16(128))};
  }
  static SLUICE_INLINE Vector16x2 All(std::int16_t value) noexcept {
    return {_mm256_set1_epi16(value)};
  }
  template <int kBits>
  SLUICE_INLINE Vector16x2 Left() const noexcept {
    return {_mm256_slli_epi16(v, kBits)};
  }
  template <int kBits>
  SLUICE_INLINE Vector16x2 Right() const noexcept {
    return {_mm256_srai_epi16(v, kBits)};
  }
  static SLUICE_INLINE Vector16x2 Expand(const std::uint8_t* a, std::uint8_t mask_a,
                                         const std::uint8_t* b, std::uint8_t mask_b) noexcept {
    return {_mm256_cvtepi8_epi16(_mm_unpacklo_epi64(Expanded(a, mask_a), Expanded(b, mask_b)))};
  }
  SLUICE_INLINE void SetFirst(std::int16_t a, std::int16_t b) noexcept {
    v = _mm256_insert_epi16(_mm256_insert_epi16(v, a, 0), b, 8);
  }
  static SLUICE_INLINE Vector16x2 Load(const std::int16_t* a, const std::int16_t* b) noexcept {
    return {_mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a))),
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)), 1)};
  }
};
using BlockVector = Vector16x2;

SLUICE_INLINE Vector16x2 operator+(const Vector16x2& a, const Vector16x2& b) noexcept {
  return {_mm256_add_epi16(a.v, b.v)};
}
SLUICE_INLINE Vector16x2 operator-(const Vector16x2& a, const Vector16x2& b) noexcept {
  return {_mm256_sub_epi16(a.v, b.v)};
}
SLUICE_INLINE Vector16x2 Multiply(const Vector16x2& a, const Vector16x2& b) noexcept {
  return {_mm256_mullo_epi16(a.v, b.v)};
}
SLUICE_INLINE Vector16x2 Absolute(const Vector16x2& a) noexcept {
  return {_mm256_abs_epi16(a.v)};
}
// The high halves of products of unsigned values.
SLUICE_INLINE Vector16x2 MultiplyHigh(const Vector16x2& a, const Vector16x2& b) noexcept {
  return {_mm256_mulhi_epu16(a.v, b.v)};
}
// -a where `b` is below zero. `a` must be zero where `b` is.
SLUICE_INLINE Vector16x2 WithSign(const Vector16x2& a, const Vector16x2& b) noexcept {
  return {_mm256_sign_epi16(a.v, b.v)};
}

template <class V, int kFirst, int kSecond>
SLUICE_INLINE V Pairs() noexcept {
  return {_mm256_set1_epi32(static_cast<int>(static_cast<std::uint32_t>(kSecond) << 16 |
                                             (static_cast<std::uint32_t>(kFirst) & 0xFFFF)))};
}
SLUICE_INLINE Vector16x2 InterleaveLow(const Vector16x2& a, const Vector16x2& b) noexcept {
  return {_mm256_unpacklo_epi16(a.v, b.v)};
}
SLUICE_INLINE Vector16x2 InterleaveHigh(const Vector16x2& a, const Vector16x2& b) noexcept {
  return {_mm256_unpackhi_epi16(a.v, b.v)};
}
SLUICE_INLINE Wide32x2 MultiplyAddPairs(const Vector16x2& a, const Vector16x2& b) noexcept {
  return {_mm256_madd_epi16(a.v, b.v)};
}
// Widens, and shifts left.
template <int kBits>
SLUICE_INLINE Wide32x2 WidenLow(const Vector16x2& a) noexcept {
  return {_mm256_srai_epi32(_mm256_unpacklo_epi16(_mm256_setzero_si256(), a.v), 16 - kBits)};
}
template <int kBits>
SLUICE_INLINE Wide32x2 WidenHigh(const Vector16x2& a) noexcept {
  return {_mm256_srai_epi32(_mm256_unpackhi_epi16(_mm256_setzero_si256(), a.v), 16 - kBits)};
}
SLUICE_INLINE Vector16x2 Narrow(const Wide32x2& low, const Wide32x2& high) noexcept {
  return {_mm256_packs_epi32(low.v, high.v)};
}

SLUICE_INLINE void Transpose8(Vector16x2* v) noexcept {
  __m256i a[8];
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = _mm256_unpacklo_epi16(v[2 * i].v, v[2 * i + 1].v);
    a[2 * i + 1] = _mm256_unpackhi_epi16(v[2 * i].v, v[2 * i + 1].v);
  }
  __m256i b[8];
  for (int i = 0; i < 2; ++i) {
    b[4 * i] = _mm256_unpacklo_epi32(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = _mm256_unpackhi_epi32(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = _mm256_unpacklo_epi32(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = _mm256_unpackhi_epi32(a[4 * i + 1], a[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    v[2 * i].v = _mm256_unpacklo_epi64(b[i], b[i + 4]);
    v[2 * i + 1].v = _mm256_unpackhi_epi64(b[i], b[i + 4]);
  }
}

SLUICE_INLINE void Transpose4(Wide32x2* w) noexcept {
  const __m256i a = _mm256_unpacklo_epi32(w[0].v, w[1].v);
  const __m256i b = _mm256_unpackhi_epi32(w[0].v, w[1].v);
  const __m256i c = _mm256_unpacklo_epi32(w[2].v, w[3].v);
  const __m256i d = _mm256_unpackhi_epi32(w[2].v, w[3].v);
  w[0].v = _mm256_unpacklo_epi64(a, c);
  w[1].v = _mm256_unpackhi_epi64(a, c);
  w[2].v = _mm256_unpacklo_epi64(b, d);
  w[3].v = _mm256_unpackhi_epi64(b, d);
}

// Numbers below 2^30 as high * 2^15 + low, interleaved.
struct Parts {
  Vector16x2 high, low;
};
SLUICE_INLINE Parts InterleaveParts(const Wide32x2& a, const Wide32x2& b) noexcept {
  const __m256i low = _mm256_blend_epi16(a.v, _mm256_slli_epi32(b.v, 16), 0xAA);
  return {{_mm256_blend_epi16(_mm256_srli_epi32(a.v, 15), _mm256_slli_epi32(b.v, 1), 0xAA)},
          {_mm256_and_si256(low, _mm256_set1_epi16(0x7FFF))}};
}

// Of each block, the first four values of `a`, then those of `b`.
SLUICE_INLINE Vector16x2 JoinFours(const Vector16x2& a, const Vector16x2& b) noexcept {
  return {_mm256_unpacklo_epi64(a.v, b.v)};
}
// Of each block, the first two values of `a` and of `b`, then these four again.
SLUICE_INLINE Vector16x2 JoinTwos(const Vector16x2& a, const Vector16x2& b) noexcept {
  const __m256i both = _mm256_unpacklo_epi32(a.v, b.v);
  return {_mm256_unpacklo_epi64(both, both)};
}
// JoinTwos() of a block's first two rows, in zigzag order.
SLUICE_INLINE Vector16x2 LoadZigzagTwos(const std::int16_t* a, const std::int16_t* b) noexcept {
  const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 8, 9, 0, 1, 2, 3, 4, 5, 8, 9);
  return {_mm256_shuffle_epi8(Vector16x2::Load(a, b).v, _mm256_broadcastsi128_si256(places))};
}

// The inverse transform of 2 x 2 values that JoinTwos() made. The results are multiplied by eight,
// and come column by column.
SLUICE_INLINE Wide32x2 TwoPoints(const Vector16x2& a) noexcept {
  const __m128i signs = _mm_setr_epi16(1, 1, 1, 1, 1, -1, 1, -1);
  // Sums of both rows, then differences.
  const __m256i rows = _mm256_madd_epi16(a.v, _mm256_broadcastsi128_si256(signs));
  const __m256i others = _mm256_shuffle_epi32(rows, 0xB1);
  const __m256i minus = _mm256_setr_epi32(1, -1, 1, -1, 1, -1, 1, -1);
  return {_mm256_add_epi32(others, _mm256_sign_epi32(rows, minus))};
}

SLUICE_INLINE void StoreColumns(const Vector16x2* v, std::uint8_t* a, std::size_t a_stride,
                                std::uint8_t* b, std::size_t b_stride) noexcept {
  const __m256i middle = _mm256_set1_epi8(static_cast<char>(0x80));
  for (std::size_t x = 0; x < 8; x += 2) {
    const __m256i samples = _mm256_add_epi8(_mm256_packs_epi16(v[x].v, v[x + 1].v), middle);
    const __m128i of_a = _mm256_castsi256_si128(samples);
    const __m128i of_b = _mm256_extracti128_si256(samples, 1);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(a + x * a_stride), of_a);
    _mm_storeh_pd(reinterpret_cast<double*>(a + (x + 1) * a_stride), _mm_castsi128_pd(of_a));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(b + x * b_stride), of_b);
    _mm_storeh_pd(reinterpret_cast<double*>(b + (x + 1) * b_stride), _mm_castsi128_pd(of_b));
  }
}

// Four columns of four samples, two in each vector.
SLUICE_INLINE void StoreFours(const Vector16x2* v, std::uint8_t* a, std::uint8_t* b,
                              std::size_t stride) noexcept {
  const __m256i samples = _mm256_add_epi8(_mm256_packs_epi16(v[0].v, v[1].v),
                                          _mm256_set1_epi8(static_cast<char>(0x80)));
  const __m128i of[2] = {_mm256_castsi256_si128(samples), _mm256_extracti128_si256(samples, 1)};
  for (int i = 0; i < 2; ++i, a = b) {
    const int column[4] = {_mm_cvtsi128_si32(of[i]), _mm_extract_epi32(of[i], 1),
                           _mm_extract_epi32(of[i], 2), _mm_extract_epi32(of[i], 3)};
    for (std::size_t x = 0; x < 4; ++x)
      std::memcpy(a + x * stride, &column[x], 4);
  }
}

// Two columns of two samples.
SLUICE_INLINE void StoreTwos(const Vector16x2& v, std::uint8_t* a, std::uint8_t* b,
                             std::size_t stride) noexcept {
  const __m256i samples =
      _mm256_add_epi8(_mm256_packs_epi16(v.v, v.v), _mm256_set1_epi8(static_cast<char>(0x80)));
  const __m128i of[2] = {_mm256_castsi256_si128(samples), _mm256_extracti128_si256(samples, 1)};
  for (int i = 0; i < 2; ++i, a = b) {
    const int both = _mm_cvtsi128_si32(of[i]);
    std::memcpy(a, &both, 2);
    const int right = both >> 16;
    std::memcpy(a + stride, &right, 2);
  }
}

constexpr bool kStrandsPay = true;

// Consecutive coefficients.
using Coefficients = __m128i;

// The values of a look-up, then a zero. `late`, those bits of the first value that follow the bits
// looked up, is added to the first value.
SLUICE_INLINE Coefficients ValuesOf(const baseline::StrandValues& values,
                                    std::uint64_t late) noexcept {
  const __m128i all = _mm_load_si128(reinterpret_cast<const __m128i*>(&values));
  const __m128i known = _mm_and_si128(all, _mm_set_epi16(0, -1, -1, -1, -1, -1, -1, -1));
  return _mm_add_epi16(known, _mm_cvtsi32_si128(static_cast<int>(late)));
}

SLUICE_INLINE void StoreValues(Coefficients values, std::int16_t* out) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), values);
}

// Stores the rows of two blocks as they are, in natural order.
SLUICE_INLINE void StoreRows(const Vector16x2* v, std::int16_t* a, std::int16_t* b) noexcept {
  for (int row = 0; row < 8; ++row) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(a + row * 8), _mm256_castsi256_si128(v[row].v));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(b + row * 8),
                     _mm256_extracti128_si256(v[row].v, 1));
  }
}
