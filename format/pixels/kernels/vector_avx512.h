// Blocks and the order of their coding in AVX-512, where an instruction moves half of a block to
// any order. Included inside a namespace of its own.

#include "format/pixels/kernels/vector_256.h"

// Half of a block, in an order that kZigzagPlaces has.
SLUICE_INLINE __m512i InOrder(const std::uint16_t* places, __m512i first, __m512i second) noexcept {
  return _mm512_permutex2var_epi16(first, _mm512_load_si512(places), second);
}

// Loads the rows of two blocks that are in zigzag order.
SLUICE_INLINE void LoadZigzag(const std::int16_t* a, const std::int16_t* b,
                              Vector16x2* v) noexcept {
  const __m512i a_first = _mm512_loadu_si512(a), a_second = _mm512_loadu_si512(a + 32);
  const __m512i b_first = _mm512_loadu_si512(b), b_second = _mm512_loadu_si512(b + 32);
  // Each takes two of the four rows of both blocks.
  const __m512i upper = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i lower = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  for (int half = 0; half < 2; ++half, v += 4) {
    const __m512i of_a = InOrder(kZigzagPlaces.gather + half * 32, a_first, a_second);
    const __m512i of_b = InOrder(kZigzagPlaces.gather + half * 32, b_first, b_second);
    const __m512i rows[2] = {_mm512_permutex2var_epi64(of_a, upper, of_b),
                             _mm512_permutex2var_epi64(of_a, lower, of_b)};
    for (int i = 0; i < 2; ++i) {
      v[2 * i].v = _mm512_castsi512_si256(rows[i]);
      v[2 * i + 1].v = _mm512_extracti64x4_epi64(rows[i], 1);
    }
  }
}

// Loads the 4 x 4 lowest frequencies of two blocks that are in zigzag order, as JoinFours() of rows
// 0 and 1, and of rows 2 and 3.
SLUICE_INLINE void LoadZigzagFours(const std::int16_t* a, const std::int16_t* b,
                                   Vector16x2* v) noexcept {
  const __m512i both = InOrder(kZigzagFours.pair, _mm512_loadu_si512(a), _mm512_loadu_si512(b));
  v[0].v = _mm512_castsi512_si256(both);
  v[1].v = _mm512_extracti64x4_epi64(both, 1);
}

// Stores the rows of two blocks in zigzag order.
SLUICE_INLINE void StoreZigzag(const Vector16x2* v, std::int16_t* a, std::int16_t* b) noexcept {
  __m512i rows[4];  // two rows of both
  for (int i = 0; i < 4; ++i)
    rows[i] = _mm512_inserti64x4(_mm512_castsi256_si512(v[2 * i].v), v[2 * i + 1].v, 1);
  const __m512i first = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
  const __m512i second = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);
  for (int i = 0; i < 2; ++i) {
    const __m512i of = i == 0 ? first : second;
    const __m512i upper = _mm512_permutex2var_epi64(rows[0], of, rows[1]);
    const __m512i lower = _mm512_permutex2var_epi64(rows[2], of, rows[3]);
    std::int16_t* const out = i == 0 ? a : b;
    _mm512_storeu_si512(out, InOrder(kZigzagPlaces.scatter, upper, lower));
    _mm512_storeu_si512(out + 32, InOrder(kZigzagPlaces.scatter + 32, upper, lower));
  }
}

// A bit for each of a block's coefficients: whether it is not zero.
SLUICE_INLINE std::uint64_t NonZeroMask(const std::int16_t* block) noexcept {
  const __m512i first = _mm512_loadu_si512(block), second = _mm512_loadu_si512(block + 32);
  return _mm512_test_epi16_mask(first, first) |
         std::uint64_t{_mm512_test_epi16_mask(second, second)} << 32;
}
