// Steps that change pixels, in AVX2, as steps_plain.h defines them: those that take other values
// than a pixel's own. Included inside a namespace of its own.

// Means of 64 values. Reads exactly 64 + 2 * step values of each line.
SLUICE_INLINE void Smooth64(const std::uint8_t* above, const std::uint8_t* line,
                            const std::uint8_t* below, std::size_t step, std::uint8_t* out) {
  const auto wide = [](const std::uint8_t* values) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values)));
  };
  std::uint16_t columns[80];  // sums of three values
  const auto sum = [&](std::size_t i) {
    const __m256i three =
        _mm256_add_epi16(_mm256_add_epi16(wide(above + i), wide(line + i)), wide(below + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(columns + i), three);
  };
  for (std::size_t i = 0; i < 64; i += 16)
    sum(i);
  sum(48 + 2 * step);
  const auto means = [&](std::size_t i) {
    const auto column = [&](std::size_t at) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns + at));
    };
    const __m256i around =
        _mm256_add_epi16(_mm256_add_epi16(column(i), column(i + step)), column(i + 2 * step));
    const __m256i own =
        _mm256_add_epi16(_mm256_slli_epi16(wide(line + i + step), 2), _mm256_set1_epi16(6));
    return _mm256_mulhi_epu16(_mm256_add_epi16(around, own), _mm256_set1_epi16(5042));
  };
  for (std::size_t i = 0; i < 64; i += 32)
    Store32(out + i, _mm256_permute4x64_epi64(_mm256_packus_epi16(means(i), means(i + 16)), 0xD8));
}

inline void SmoothLine(const std::uint8_t* above, const std::uint8_t* line,
                       const std::uint8_t* below, std::size_t step, std::size_t count,
                       std::uint8_t* out) {
  std::size_t i = 0;
  for (; i + 64 <= count; i += 64)
    Smooth64(above + i, line + i, below + i, step, out + i);
  if (i == count) return;
  if (count >= 64) {  // the last 64 means, some of them once more
    i = count - 64;
    return Smooth64(above + i, line + i, below + i, step, out + i);
  }
  const auto column = [=](std::size_t at) { return above[at] + line[at] + below[at]; };
  for (; i < count; ++i) {
    const int around = column(i) + column(i + step) + column(i + 2 * step);
    out[i] = SmoothValue(static_cast<std::uint16_t>(around + 4 * line[i + step] + 6));
  }
}

SLUICE_INLINE __m256i LoadShorts(const std::int16_t* values) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
}
SLUICE_INLINE void StoreSums(const __m256i* sums, int vectors, std::int16_t* out) noexcept {
  for (int v = 0; v < vectors; ++v)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 16 * v), sums[v]);
}
SLUICE_INLINE void StoreSums(const __m256i* sums, int vectors, std::uint8_t* out) noexcept {
  const auto narrow = [](__m256i a, __m256i b) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xD8);
  };
  for (int v = 0; v + 2 <= vectors; v += 2)
    Store32(out + 16 * v, narrow(sums[v], sums[v + 1]));
  if (vectors == 1)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm256_castsi256_si128(narrow(sums[0], sums[0])));
}

template <std::uint32_t kShift, int kVectors, class Out>
SLUICE_INLINE void BlurBlock(const BlurSum& sum, std::size_t at, Out* out) {
  // Not __m256i, whose lanes have 64 bits: GCC would move each sum to another register and back.
  using Sums = int __attribute__((vector_size(32)));
  Sums low[kVectors], high[kVectors];
  for (int v = 0; v < kVectors; ++v)
    low[v] = high[v] = Sums(_mm256_set1_epi32(1 << (kShift - 1)));
  const std::int16_t* a = sum.values + at;
  const std::int16_t* b = a + sum.step * (sum.taps - 1);
  const std::int16_t* weight = sum.weights;
  const std::int16_t* const end = weight + sum.pairs;
  do {
    std::int32_t both;
    std::memcpy(&both, weight, sizeof(both));
    const __m256i weights = _mm256_set1_epi32(both);
    for (int v = 0; v < kVectors; ++v) {
      const __m256i one = _mm256_add_epi16(LoadShorts(a + 16 * v), LoadShorts(b + 16 * v));
      const __m256i next =
          _mm256_add_epi16(LoadShorts(a + sum.step + 16 * v), LoadShorts(b - sum.step + 16 * v));
      low[v] -= Sums(_mm256_madd_epi16(_mm256_unpacklo_epi16(one, next), weights));
      high[v] -= Sums(_mm256_madd_epi16(_mm256_unpackhi_epi16(one, next), weights));
    }
    weight += 2;
    a += 2 * sum.step;
    b -= 2 * sum.step;
  } while (weight != end);
  __m256i packed[kVectors];
  for (int v = 0; v < kVectors; ++v)
    packed[v] = _mm256_packus_epi32(__m256i(low[v] >> kShift), __m256i(high[v] >> kShift));
  StoreSums(packed, kVectors, out);
}

// The places of eight pixels along an axis: of pixels 0, 1, 4 and 5, and of 2, 3, 6 and 7, so that
// the halves of these numbers come out in order.
struct AxisPlaces {
  __m256i first, second, step;
  SLUICE_INLINE AxisPlaces(std::uint64_t start, std::uint64_t by) noexcept {
    const auto at = [=](std::uint64_t i) { return static_cast<long long>(start + i * by); };
    first = _mm256_setr_epi64x(at(0), at(1), at(4), at(5));
    second = _mm256_setr_epi64x(at(2), at(3), at(6), at(7));
    step = _mm256_set1_epi64x(static_cast<long long>(8 * by));
  }
  SLUICE_INLINE __m256i Whole() const noexcept { return Halves<0xDD>(); }
  SLUICE_INLINE __m256i Share() const noexcept { return _mm256_srli_epi32(Halves<0x88>(), 17); }
  SLUICE_INLINE void Advance() noexcept {
    first = _mm256_add_epi64(first, step);
    second = _mm256_add_epi64(second, step);
  }
  template <int kOrder>
  SLUICE_INLINE __m256i Halves() const noexcept {
    return _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), kOrder));
  }
};

inline void FindPlaces(const PlaceLine& line, std::size_t count, std::uint32_t* offsets,
                       std::uint32_t* shares) {
  AxisPlaces x(line.x, line.x_step), y(line.y, line.y_step);
  const __m256i stride = _mm256_set1_epi32(static_cast<int>(line.stride));
  const __m256i pixel = _mm256_set1_epi32(static_cast<int>(line.pixel));
  for (std::size_t i = 0; i < count; i += 8) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(offsets + i),
                        _mm256_add_epi32(_mm256_mullo_epi32(y.Whole(), stride),
                                         _mm256_mullo_epi32(x.Whole(), pixel)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(shares + i),
                        _mm256_or_si256(x.Share(), _mm256_slli_epi32(y.Share(), 16)));
    x.Advance();
    y.Advance();
  }
}

// Eight bytes at each of four places.
SLUICE_INLINE __m256i LoadFour(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c,
                               const std::uint8_t* d) noexcept {
  const auto two = [](const std::uint8_t* one, const std::uint8_t* other) {
    return _mm_castps_si128(
        _mm_loadh_pi(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(one))),
                     reinterpret_cast<const __m64*>(other)));
  };
  return _mm256_inserti128_si256(_mm256_castsi128_si256(two(a, b)), two(c, d), 1);
}

inline void MixRgb(const std::uint8_t* in, std::size_t stride, const std::uint32_t* offsets,
                   const std::uint32_t* shares, std::size_t count, std::uint8_t* out) {
  const auto twice = [](__m128i v) { return _mm256_broadcastsi128_si256(v); };
  // The two pixels of each eight bytes, in 16-bit lanes, and the shares of a pair of places for all
  // lanes of its pixel.
  const __m256i first =
      twice(_mm_setr_epi8(0, -1, 1, -1, 2, -1, -1, -1, 8, -1, 9, -1, 10, -1, -1, -1));
  const __m256i second =
      twice(_mm_setr_epi8(3, -1, 4, -1, 5, -1, -1, -1, 11, -1, 12, -1, 13, -1, -1, -1));
  const __m256i across = twice(_mm_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 4, 5, 4, 5, 4, 5, 4, 5));
  const __m256i down = _mm256_add_epi8(across, _mm256_set1_epi8(2));
  const __m256i next = _mm256_set1_epi8(8);
  const __m256i joined =
      twice(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  // Eight pixels: four in each half of the result.
  const auto mix = [&](const std::uint32_t* at, const std::uint32_t* shares_at) {
    const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(shares_at));
    // Pixels `from`, from + 1, from + 4 and from + 5.
    const auto four = [&](int from, __m256i x_places, __m256i y_places) {
      const __m256i x = _mm256_shuffle_epi8(all, x_places), y = _mm256_shuffle_epi8(all, y_places);
      const auto mean = [](__m256i a, __m256i b, __m256i share) {
        return _mm256_add_epi16(a, _mm256_mulhrs_epi16(_mm256_sub_epi16(b, a), share));
      };
      const auto row = [&](const std::uint8_t* line) {
        const __m256i pixels = LoadFour(line + at[from], line + at[from + 1], line + at[from + 4],
                                        line + at[from + 5]);
        return mean(_mm256_slli_epi16(_mm256_shuffle_epi8(pixels, first), 7),
                    _mm256_slli_epi16(_mm256_shuffle_epi8(pixels, second), 7), x);
      };
      const __m256i mixed = mean(row(in), row(in + stride), y);
      return _mm256_srli_epi16(_mm256_add_epi16(mixed, _mm256_set1_epi16(64)), 7);
    };
    const __m256i pixels = _mm256_packus_epi16(
        four(0, across, down), four(2, _mm256_add_epi8(across, next), _mm256_add_epi8(down, next)));
    return _mm256_shuffle_epi8(pixels, joined);
  };
  MixByEight<3, 4>(offsets, shares, count, out,
                   [&](const std::uint32_t* at, const std::uint32_t* shares_at, std::uint8_t* to) {
                     const __m256i pixels = mix(at, shares_at);
                     auto* const first_half = reinterpret_cast<__m128i*>(to);
                     auto* const second_half = reinterpret_cast<__m128i*>(to + 12);
                     _mm_storeu_si128(first_half, _mm256_castsi256_si128(pixels));
                     _mm_storeu_si128(second_half, _mm256_extracti128_si256(pixels, 1));
                   });
}

inline void MixGrey(const std::uint8_t* in, std::size_t stride, const std::uint32_t* offsets,
                    const std::uint32_t* shares, std::size_t count, std::uint8_t* out) {
  // The two values at each of eight places.
  const auto pairs = [](const std::uint8_t* line, const std::uint32_t* at) {
    std::uint16_t both[8];
    for (int i = 0; i < 8; ++i)
      std::memcpy(both + i, line + at[i], 2);
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(both));
  };
  const auto mean = [](__m128i a, __m128i b, __m128i share) {
    return _mm_add_epi16(a, _mm_mulhrs_epi16(_mm_sub_epi16(b, a), share));
  };
  const auto row = [&](__m128i both, __m128i share) {
    const __m128i first = _mm_and_si128(both, _mm_set1_epi16(255));
    return mean(_mm_slli_epi16(first, 7), _mm_slli_epi16(_mm_srli_epi16(both, 8), 7), share);
  };
  const auto mix = [&](const std::uint32_t* at, const std::uint32_t* shares_at, std::uint8_t* to) {
    const auto* const all = reinterpret_cast<const __m128i*>(shares_at);
    const __m128i low = _mm_loadu_si128(all), high = _mm_loadu_si128(all + 1);
    const __m128i half = _mm_set1_epi32(0xFFFF);
    const __m128i x = _mm_packus_epi32(_mm_and_si128(low, half), _mm_and_si128(high, half));
    const __m128i y = _mm_packus_epi32(_mm_srli_epi32(low, 16), _mm_srli_epi32(high, 16));
    const __m128i mixed = mean(row(pairs(in, at), x), row(pairs(in + stride, at), x), y);
    const __m128i whole = _mm_srli_epi16(_mm_add_epi16(mixed, _mm_set1_epi16(64)), 7);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(whole, whole));
  };
  MixByEight<1, 0>(offsets, shares, count, out, mix);
}
