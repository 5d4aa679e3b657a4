// Tiles of one channel (format/pixels/tiled): the differences of groups of eight, and their sums.
// Included once for each instruction set, inside a namespace of its own. Mostly plain loops, which
// compilers vectorise; sums along a line are written out where the set is AVX2.

// Each word as 8 x 8 bits.
SLUICE_INLINE void TransposeBits(std::uint64_t* words, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t x = words[i], t;
    t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAULL;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCULL;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ULL;
    x ^= t ^ (t << 28);
    words[i] = x;
  }
}

// For word `i` of a group of `width` bytes: which of its bytes belong to the group.
template <class U>
struct GroupMasks {
  std::uint64_t of[8 * sizeof(U) + 1][sizeof(U)] = {};
  constexpr GroupMasks() {
    for (std::uint32_t width = 0; width <= 8 * sizeof(U); ++width) {
      for (std::uint32_t i = 0; i < sizeof(U); ++i) {
        of[width][i] = width >= 8 * i + 8 ? ~std::uint64_t{0}
                       : width <= 8 * i   ? 0
                                          : (std::uint64_t{1} << (8 * (width - 8 * i))) - 1;
      }
    }
  }
};
template <class U>
inline constexpr GroupMasks<U> kGroupMasks;

// Byte i of a group has bit i of its eight differences, so the transposed words have whole
// differences: word 0 their low bytes, word 1 their second bytes, and so on.
template <class U>
inline void UnpackGroups(const std::uint8_t* at, const std::uint8_t* widths, std::size_t groups,
                         std::uint64_t* words, U* out) {
  constexpr std::size_t kWords = sizeof(U);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t i = 0; i < kWords; ++i) {
      std::uint64_t word;
      std::memcpy(&word, at + 8 * i, sizeof word);
      words[i * groups + g] = word & kGroupMasks<U>.of[widths[g]][i];
    }
    at += widths[g];
  }
  TransposeBits(words, kWords * groups);
  const auto* const low = reinterpret_cast<const std::uint8_t*>(words);
  for (std::size_t i = 0; i < 8 * groups; ++i) {
    U z = low[i];
    for (std::size_t b = 1; b < kWords; ++b)
      z = static_cast<U>(z | static_cast<U>(static_cast<U>(low[b * groups * 8 + i]) << (8 * b)));
    out[i] = static_cast<U>((z >> 1) ^ static_cast<U>(0U - (z & 1U)));
  }
}

// Replaces each value of a line by the sum of those up to it and `sum`.
template <class U>
SLUICE_INLINE void SumUp(U* line, std::uint32_t count, U sum) noexcept {
  std::uint32_t x = 0;
#ifdef __AVX2__
  if constexpr (sizeof(U) == 2) {
    __m128i carry = _mm_set1_epi16(static_cast<short>(sum));
    for (; x + 8 <= count; x += 8) {
      __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(line + x));
      v = _mm_add_epi16(v, _mm_slli_si128(v, 2));
      v = _mm_add_epi16(v, _mm_slli_si128(v, 4));
      v = _mm_add_epi16(_mm_add_epi16(v, _mm_slli_si128(v, 8)), carry);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(line + x), v);
      carry = _mm_shuffle_epi32(_mm_shufflehi_epi16(v, 0xFF), 0xFF);
    }
    if (x > 0) sum = line[x - 1];
  }
  if constexpr (sizeof(U) == 4) {
    __m128i carry = _mm_set1_epi32(static_cast<int>(sum));
    for (; x + 4 <= count; x += 4) {
      __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(line + x));
      v = _mm_add_epi32(v, _mm_slli_si128(v, 4));
      v = _mm_add_epi32(_mm_add_epi32(v, _mm_slli_si128(v, 8)), carry);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(line + x), v);
      carry = _mm_shuffle_epi32(v, 0xFF);
    }
    if (x > 0) sum = line[x - 1];
  }
#endif
  for (; x < count; ++x)
    line[x] = sum = static_cast<U>(sum + line[x]);
}

// Makes values of the differences of a tile's first `lines` lines, in place. A left predictor
// begins each line with the value above, and the first line of any predictor is one of the left.
template <class U>
inline void AddPredictions(U* tile, std::uint32_t width, std::uint32_t lines,
                           std::uint32_t predictor) {
  if (predictor == 0) return;
  U* line = tile;
  for (std::uint32_t y = 0; y < lines; ++y, line += width) {
    if (y == 0 || predictor == 3) SumUp(line, width, U{0});
    if (y == 0) continue;
    const U* const above = line - width;
    if (predictor == 1) {
      SumUp(line, width, above[0]);
      continue;
    }
    for (std::uint32_t x = 0; x < width; ++x)
      line[x] = static_cast<U>(line[x] + above[x]);
  }
}
