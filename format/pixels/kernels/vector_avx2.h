// Moves blocks between zigzag and natural order, with AVX2. Included inside a namespace of its own.

#include "format/pixels/kernels/vector_256.h"

// Loads the rows of two blocks that are in zigzag order.
SLUICE_INLINE void LoadZigzag(const std::int16_t* a, const std::int16_t* b,
                              Vector16x2* v) noexcept {
  __m256i in[8];
  for (int i = 0; i < 8; ++i)
    in[i] = Vector16x2::Load(a + i * 8, b + i * 8).v;
#pragma GCC unroll 8
  for (int row = 0; row < 8; ++row) {
    __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      if (!kZigzagGather.any[row][i]) continue;
      const __m256i places =
          _mm256_load_si256(reinterpret_cast<const __m256i*>(kZigzagGather.from[row][i]));
      sum = _mm256_or_si256(sum, _mm256_shuffle_epi8(in[i], places));
    }
    v[row].v = sum;
  }
}

// Loads the 4 x 4 lowest frequencies of two blocks that are in zigzag order, as JoinFours() of rows
// 0 and 1, and of rows 2 and 3.
SLUICE_INLINE void LoadZigzagFours(const std::int16_t* a, const std::int16_t* b,
                                   Vector16x2* v) noexcept {
  const auto part = [&](int to, int i) __attribute__((always_inline)) {
    const unsigned at = ZigzagFours::kParts[i];
    return _mm256_shuffle_epi8(
        Vector16x2::Load(a + at, b + at).v,
        _mm256_load_si256(reinterpret_cast<const __m256i*>(kZigzagFours.from[to][i])));
  };
  v[0].v = _mm256_or_si256(part(0, 0), part(0, 1));
  v[1].v = _mm256_or_si256(_mm256_or_si256(part(1, 0), part(1, 1)), part(1, 2));
}

// Stores the rows of two blocks in zigzag order.
SLUICE_INLINE void StoreZigzag(const Vector16x2* v, std::int16_t* a, std::int16_t* b) noexcept {
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int row = 0; row < 8; ++row) {
      if (!kZigzagScatter.any[i][row]) continue;
      const __m256i places =
          _mm256_load_si256(reinterpret_cast<const __m256i*>(kZigzagScatter.from[i][row]));
      sum = _mm256_or_si256(sum, _mm256_shuffle_epi8(v[row].v, places));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(a + i * 8), _mm256_castsi256_si128(sum));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(b + i * 8), _mm256_extracti128_si256(sum, 1));
  }
}

// A bit for each of a block's coefficients: whether it is not zero.
SLUICE_INLINE std::uint64_t NonZeroMask(const std::int16_t* block) noexcept {
  std::uint64_t zeros = 0;
  for (int half = 0; half < 2; ++half, block += 32) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 16));
    // Packing saturates to bytes: zero stays zero, and no other value becomes zero.
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xD8);
    const __m256i equal = _mm256_cmpeq_epi8(bytes, _mm256_setzero_si256());
    zeros |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(equal))} << (half * 32);
  }
  return ~zeros;
}
