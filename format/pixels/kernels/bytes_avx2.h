// Vectors of bytes, which steps change (steps_vector.inc.h), in AVX2. Included inside a namespace
// of its own.

SLUICE_INLINE __m256i Load32(const std::uint8_t* values) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
}
SLUICE_INLINE void Store32(std::uint8_t* values, __m256i v) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(values), v);
}

struct Bytes {
  static constexpr std::size_t kCount = 32;
  __m256i v;
  static SLUICE_INLINE Bytes Load(const std::uint8_t* values) noexcept { return {Load32(values)}; }
  static SLUICE_INLINE Bytes All(std::uint8_t value) noexcept {
    return {_mm256_set1_epi8(static_cast<char>(value))};
  }
  SLUICE_INLINE void Store(std::uint8_t* values) const noexcept { Store32(values, v); }
};
SLUICE_INLINE Bytes operator-(const Bytes& a, const Bytes& b) noexcept {
  return {_mm256_sub_epi8(a.v, b.v)};
}
SLUICE_INLINE Bytes AddSaturated(const Bytes& a, const Bytes& b) noexcept {
  return {_mm256_adds_epu8(a.v, b.v)};
}
SLUICE_INLINE Bytes SubtractSaturated(const Bytes& a, const Bytes& b) noexcept {
  return {_mm256_subs_epu8(a.v, b.v)};
}
SLUICE_INLINE Bytes Distance(const Bytes& a, const Bytes& b) noexcept {
  return {_mm256_or_si256(_mm256_subs_epu8(b.v, a.v), _mm256_subs_epu8(a.v, b.v))};
}
SLUICE_INLINE Bytes Max(const Bytes& a, const Bytes& b) noexcept {
  return {_mm256_max_epu8(a.v, b.v)};
}
SLUICE_INLINE Bytes Min(const Bytes& a, const Bytes& b) noexcept {
  return {_mm256_min_epu8(a.v, b.v)};
}
// Comparisons give 255 where they hold, otherwise 0; Choose() takes such masks.
SLUICE_INLINE Bytes Equal(const Bytes& a, const Bytes& b) noexcept {
  return {_mm256_cmpeq_epi8(a.v, b.v)};
}
SLUICE_INLINE Bytes AtLeast(const Bytes& a, const Bytes& b) noexcept {
  return {_mm256_cmpeq_epi8(_mm256_subs_epu8(b.v, a.v), _mm256_setzero_si256())};
}
SLUICE_INLINE Bytes Choose(const Bytes& mask, const Bytes& a, const Bytes& b) noexcept {
  return {_mm256_blendv_epi8(b.v, a.v, mask.v)};
}
// Zero where the mask holds.
SLUICE_INLINE Bytes Except(const Bytes& mask, const Bytes& a) noexcept {
  return {_mm256_andnot_si256(mask.v, a.v)};
}

// Half as many numbers of 16 bits. The halves are those of unpacking: the first or second eight of
// each 16 bytes.
using Words = Vector16x2;
template <int kHalf>
SLUICE_INLINE __m256i Unpacked(__m256i v, __m256i with) noexcept {
  return kHalf == 0 ? _mm256_unpacklo_epi8(v, with) : _mm256_unpackhi_epi8(v, with);
}
template <int kHalf>
SLUICE_INLINE Words Widened(const Bytes& bytes) noexcept {
  return {Unpacked<kHalf>(bytes.v, _mm256_setzero_si256())};
}
// Both halves' numbers, clamped to 0 .. 255.
SLUICE_INLINE Bytes Narrowed(const Words& first, const Words& second) noexcept {
  return {_mm256_packus_epi16(first.v, second.v)};
}
// Both halves' numbers in 1/32, rounded.
SLUICE_INLINE Bytes NarrowedLevels(const Words& first, const Words& second) noexcept {
  const __m256i round = _mm256_set1_epi16(1024);
  return {_mm256_packus_epi16(_mm256_mulhrs_epi16(first.v, round),
                              _mm256_mulhrs_epi16(second.v, round))};
}
SLUICE_INLINE Words operator^(const Words& a, const Words& b) noexcept {
  return {_mm256_xor_si256(a.v, b.v)};
}
// (a * b + 2^14) >> 15
SLUICE_INLINE Words MultiplyRounded(const Words& a, const Words& b) noexcept {
  return {_mm256_mulhrs_epi16(a.v, b.v)};
}
// `a` times the signs of half of the bytes: -1, 0 or 1.
template <int kHalf>
SLUICE_INLINE Words WithSign(const Words& a, const Bytes& signs) noexcept {
  return {_mm256_sign_epi16(a.v, Unpacked<kHalf>(signs.v, signs.v))};
}
// Of unsigned numbers.
SLUICE_INLINE Words MinUnsigned(const Words& a, const Words& b) noexcept {
  return {_mm256_min_epu16(a.v, b.v)};
}
SLUICE_INLINE Words SubtractSaturated(const Words& a, const Words& b) noexcept {
  return {_mm256_subs_epu16(a.v, b.v)};
}
// Of signed numbers.
SLUICE_INLINE Words Greater(const Words& a, const Words& b) noexcept {
  return {_mm256_cmpgt_epi16(a.v, b.v)};
}
SLUICE_INLINE Words Choose(const Words& mask, const Words& a, const Words& b) noexcept {
  return {_mm256_blendv_epi8(b.v, a.v, mask.v)};
}

// A quarter as many floats: the first or second half of Words, as unpacking has them.
using Floats = __m256;
SLUICE_INLINE Floats AllFloats(float value) noexcept {
  return _mm256_set1_ps(value);
}
template <int kHalf>
SLUICE_INLINE Floats FloatsOf(const Words& words) noexcept {
  const __m256i zero = _mm256_setzero_si256();
  return _mm256_cvtepi32_ps(kHalf == 0 ? _mm256_unpacklo_epi16(words.v, zero)
                                       : _mm256_unpackhi_epi16(words.v, zero));
}
// Both halves' whole parts, clamped to 16 bits with a sign.
SLUICE_INLINE Words Truncated(Floats first, Floats second) noexcept {
  return {_mm256_packs_epi32(_mm256_cvttps_epi32(first), _mm256_cvttps_epi32(second))};
}
SLUICE_INLINE Floats Max(Floats a, Floats b) noexcept {
  return _mm256_max_ps(a, b);
}
SLUICE_INLINE Floats Min(Floats a, Floats b) noexcept {
  return _mm256_min_ps(a, b);
}

SLUICE_INLINE Floats Floor(Floats a) noexcept {
  return _mm256_floor_ps(a);
}

// The floats of a vector's bytes, each quarter loaded where it is used.
struct ByteFloats {
  const std::uint8_t* values;
  static SLUICE_INLINE ByteFloats Load(const std::uint8_t* values) noexcept { return {values}; }
  template <int kQuarter>
  SLUICE_INLINE Floats At() const noexcept {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(values + 8 * kQuarter))));
  }
};
// Four quarters that Truncated() made two of, clamped to 0 .. 255.
SLUICE_INLINE Bytes NarrowedInOrder(const Words& first, const Words& second) noexcept {
  return {_mm256_permutevar8x32_epi32(_mm256_packus_epi16(first.v, second.v),
                                      _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))};
}

// A factor in 1/65536.
struct Fraction {
  __m256i factor;
  explicit SLUICE_INLINE Fraction(std::uint16_t fraction) noexcept
      : factor(_mm256_set1_epi16(static_cast<short>(fraction))) {}
  // The whole parts of the products.
  SLUICE_INLINE Bytes Of(const Bytes& d) const noexcept {
    return {_mm256_packus_epi16(_mm256_mulhi_epu16(Widened<0>(d).v, factor),
                                _mm256_mulhi_epu16(Widened<1>(d).v, factor))};
  }
};

// GreyValue() of 32 pixels, as 32-bit lanes; InOrder() has them in order.
struct Greys32 {
  __m256i at[4];
  SLUICE_INLINE Greys32(const Bytes& r, const Bytes& g, const Bytes& b) noexcept {
    Make<0>(r, g, b);
    Make<1>(r, g, b);
  }
  template <int kHalf>
  SLUICE_INLINE void Make(const Bytes& r, const Bytes& g, const Bytes& b) noexcept {
    // The factors are 19595, 38470 and 7471. Half of green's fits into 16 bits, so green is in both
    // pairs.
    const __m256i of_rg = _mm256_set1_epi32(19235 << 16 | 19595);
    const __m256i of_gb = _mm256_set1_epi32(7471 << 16 | 19235);
    const __m256i half = _mm256_set1_epi32(32768);
    const __m256i red = Widened<kHalf>(r).v, green = Widened<kHalf>(g).v,
                  blue = Widened<kHalf>(b).v;
    const auto grey = [&](__m256i rg, __m256i gb) {
      const __m256i sum =
          _mm256_add_epi32(_mm256_madd_epi16(rg, of_rg), _mm256_madd_epi16(gb, of_gb));
      return _mm256_srli_epi32(_mm256_add_epi32(sum, half), 16);
    };
    at[2 * kHalf] = grey(_mm256_unpacklo_epi16(red, green), _mm256_unpacklo_epi16(green, blue));
    at[2 * kHalf + 1] = grey(_mm256_unpackhi_epi16(red, green), _mm256_unpackhi_epi16(green, blue));
  }
  SLUICE_INLINE Bytes InOrder() const noexcept {
    return {
        _mm256_packus_epi16(_mm256_packs_epi32(at[0], at[1]), _mm256_packs_epi32(at[2], at[3]))};
  }
};
SLUICE_INLINE Bytes GreysOf(const Bytes& r, const Bytes& g, const Bytes& b) noexcept {
  return Greys32(r, g, b).InOrder();
}
struct GreySum {
  __m256i sums = _mm256_setzero_si256();
  SLUICE_INLINE void Add(const Bytes& r, const Bytes& g, const Bytes& b) noexcept {
    const Greys32 greys(r, g, b);
    for (const __m256i& some : greys.at)
      sums = _mm256_add_epi32(sums, some);
  }
  SLUICE_INLINE std::uint64_t Total() const noexcept {
    std::uint32_t parts[8];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(parts), sums);
    std::uint64_t sum = 0;
    for (const std::uint32_t part : parts)
      sum += part;
    return sum;
  }
};

// Byte shuffles look up 16 of the 256 values at a time. A place that is not among these 16 is
// negative there and gives 0, or is one of the next and gives what the next look-up, of the
// difference, takes back.
struct ByteTable {
  __m256i rows[16];
  explicit SLUICE_INLINE ByteTable(const std::uint8_t* table) noexcept {
    for (int i = 0; i < 16; ++i)
      rows[i] = _mm256_broadcastsi128_si256(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * i)));
    for (int i = 15; i > 0; --i)
      if (i != 8) rows[i] = _mm256_xor_si256(rows[i], rows[i - 1]);
  }
  SLUICE_INLINE Bytes At(const Bytes& places) const noexcept {
    const __m256i step = _mm256_set1_epi8(16);
    __m256i low = places.v;
    __m256i high = _mm256_xor_si256(low, _mm256_set1_epi8(static_cast<char>(0x80)));
    __m256i sum =
        _mm256_xor_si256(_mm256_shuffle_epi8(rows[0], low), _mm256_shuffle_epi8(rows[8], high));
    for (int i = 1; i < 8; ++i) {
      low = _mm256_subs_epi8(low, step);
      high = _mm256_subs_epi8(high, step);
      sum = _mm256_xor_si256(sum, _mm256_shuffle_epi8(rows[i], low));
      sum = _mm256_xor_si256(sum, _mm256_shuffle_epi8(rows[8 + i], high));
    }
    return {sum};
  }
};
