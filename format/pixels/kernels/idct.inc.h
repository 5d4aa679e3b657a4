// Inverse DCT of 8x8 blocks: the algorithm of Loeffler, Ligtenberg and Moschytz (1989) with twelve
// multiplications, in the fixed-point arithmetic of libjpeg's accurate integer transform (13 bits
// of constants, two more bits kept between the passes), and so to the same bytes. The output is
// stored by columns, which saves one of the two transpositions. Included once for each instruction
// set.

// A block of coefficients in natural order has a spare place after its end (kSpare); a block in
// zigzag order, in which it is coded, has none.
enum BlockOrder { kNaturalOrder, kZigzagOrder };

struct BlockTarget {
  std::int16_t* block;  // zeros are left behind
  const std::int16_t* quant;
  std::uint8_t* out;  // by columns
  std::size_t stride;
  std::uint32_t size_log2;
};

constexpr int kPassBits = 2;

// One pass over eight vectors of 16-bit values (V holds one or two blocks side by side), each
// output rounded and shifted right by kShift, saturated to 16 bits.
template <class V, int kShift>
SLUICE_INLINE void Pass(V* v) noexcept {
  using W = typename V::Wide;
  // Even part.
  const V sum04 = v[0] + v[4];
  const V difference04 = v[0] - v[4];
  W even[4][2];
  for (int half = 0; half < 2; ++half) {
    const auto z = half == 0 ? InterleaveLow(v[2], v[6]) : InterleaveHigh(v[2], v[6]);
    const W t2 = MultiplyAddPairs(z, Pairs<V, k0541, k0541 - k1847>());
    const W t3 = MultiplyAddPairs(z, Pairs<V, k0541 + k0765, k0541>());
    const W round = W::All(1 << (kShift - 1));
    const W t0 = (half == 0 ? WidenLow<kConstBits>(sum04) : WidenHigh<kConstBits>(sum04)) + round;
    const W t1 =
        (half == 0 ? WidenLow<kConstBits>(difference04) : WidenHigh<kConstBits>(difference04)) +
        round;
    even[0][half] = t0 + t3;
    even[3][half] = t0 - t3;
    even[1][half] = t1 + t2;
    even[2][half] = t1 - t2;
  }
  // Odd part.
  const V z3 = v[7] + v[3];
  const V z4 = v[5] + v[1];
  W odd[4][2];
  for (int half = 0; half < 2; ++half) {
    const auto z34 = half == 0 ? InterleaveLow(z3, z4) : InterleaveHigh(z3, z4);
    const auto v71 = half == 0 ? InterleaveLow(v[7], v[1]) : InterleaveHigh(v[7], v[1]);
    const auto v53 = half == 0 ? InterleaveLow(v[5], v[3]) : InterleaveHigh(v[5], v[3]);
    const W a = MultiplyAddPairs(z34, Pairs<V, k1175 - k1961, k1175>());
    const W b = MultiplyAddPairs(z34, Pairs<V, k1175, k1175 - k0390>());
    odd[0][half] = MultiplyAddPairs(v71, Pairs<V, k0298 - k0899, -k0899>()) + a;
    odd[3][half] = MultiplyAddPairs(v71, Pairs<V, -k0899, k1501 - k0899>()) + b;
    odd[1][half] = MultiplyAddPairs(v53, Pairs<V, k2053 - k2562, -k2562>()) + b;
    odd[2][half] = MultiplyAddPairs(v53, Pairs<V, -k2562, k3072 - k2562>()) + a;
  }
  for (int i = 0; i < 4; ++i) {
    const W* const o = odd[3 - i];
    v[i] = Narrow((even[i][0] + o[0]).template Right<kShift>(),
                  (even[i][1] + o[1]).template Right<kShift>());
    v[7 - i] = Narrow((even[i][0] - o[0]).template Right<kShift>(),
                      (even[i][1] - o[1]).template Right<kShift>());
  }
}

template <class V>
SLUICE_INLINE void Transform(V* v) noexcept {
  Pass<V, kConstBits - kPassBits>(v);
  Transpose8(v);
  Pass<V, kConstBits + kPassBits + 3>(v);
}

// Leaves zeros in a block, and in its spare place if it has one.
template <BlockOrder kOrder>
SLUICE_INLINE void Clear(std::int16_t* block) noexcept {
  std::memset(block, 0, kBlockSize * sizeof(*block));
  if constexpr (kOrder == kNaturalOrder) block[kSpare] = 0;
}

// Transforms two blocks of the same quantisation, in vectors that hold two.
template <class V, BlockOrder kOrder>
SLUICE_INLINE void TransformPair(const BlockTarget& a, const BlockTarget& b) noexcept {
  V v[8];
  if constexpr (kOrder == kZigzagOrder) LoadZigzag(a.block, b.block, v);
  for (int row = 0; row < 8; ++row) {
    if constexpr (kOrder == kNaturalOrder) v[row] = V::Load(a.block + row * 8, b.block + row * 8);
    v[row] = Multiply(v[row], V::LoadTwice(a.quant + row * 8));
  }
  Clear<kOrder>(a.block);
  Clear<kOrder>(b.block);
  Transform(v);
  StoreColumns(v, a.out, a.stride, b.out, b.stride);
}

// Transforms one block; vectors that hold two have zeros in the other.
template <class V, BlockOrder kOrder>
SLUICE_INLINE void TransformOne(const BlockTarget& a) noexcept {
  if constexpr (V::kBlocks == 1) {
    V v[8];
    if constexpr (kOrder == kZigzagOrder) LoadZigzag(a.block, v);
    for (int row = 0; row < 8; ++row) {
      if constexpr (kOrder == kNaturalOrder) v[row] = V::Load(a.block + row * 8);
      v[row] = Multiply(v[row], V::Load(a.quant + row * 8));
    }
    Clear<kOrder>(a.block);
    Transform(v);
    StoreColumns(v, a.out, a.stride);
  } else {
    alignas(64) std::int16_t nothing[kSpareBlock] = {};
    alignas(64) std::uint8_t nowhere[64];
    TransformPair<V, kOrder>(a, {nothing, a.quant, nowhere, 8, 3});
  }
}

// Four frequencies to four samples, with 13 bits of fraction more.
template <class Value>
SLUICE_INLINE void FourPoints(const Value* in, Value* out) noexcept {
  const Value even = (in[0] + in[2]) * 8192;
  const Value other_even = (in[0] - in[2]) * 8192;
  const Value odd = in[1] * 10703 + in[3] * 4433;
  const Value other_odd = in[1] * 4433 - in[3] * 10703;
  out[0] = even + odd;
  out[1] = other_even + other_odd;
  out[2] = other_even - other_odd;
  out[3] = even - odd;
}

template <class Value>
SLUICE_INLINE std::uint8_t ToSample(Value value) noexcept {
  return static_cast<std::uint8_t>(value < -128 ? 0 : value > 127 ? 255 : value + 128);
}

SLUICE_INLINE std::int32_t Coefficient(const BlockTarget& target, int place) noexcept {
  return static_cast<std::int16_t>(target.block[place] * target.quant[place]);
}

SLUICE_INLINE void TransformToFour(const BlockTarget& target) noexcept {
  std::int32_t by_frequency[4][4];
  for (int v = 0; v < 4; ++v) {
    std::int32_t in[4];
    for (int u = 0; u < 4; ++u)
      in[u] = Coefficient(target, v * 8 + u);
    FourPoints(in, by_frequency[v]);  // four 16-bit values times 13 bits: 31 bits
  }
  for (std::size_t x = 0; x < 4; ++x) {
    std::int64_t in[4], out[4];
    for (int v = 0; v < 4; ++v)
      in[v] = by_frequency[v][x];
    in[0] += std::int64_t{1} << (kConstBits + 2);  // half of what the shift takes
    FourPoints(in, out);
    std::uint8_t column[4];
    for (int y = 0; y < 4; ++y)
      column[y] = ToSample(out[y] >> (2 * kConstBits + 3));
    std::memcpy(target.out + x * target.stride, column, 4);
  }
}

SLUICE_INLINE void TransformToTwo(const BlockTarget& target) noexcept {
  const std::int32_t dc = Coefficient(target, 0) + 4;
  const std::int32_t across = Coefficient(target, 1);
  const std::int32_t down = Coefficient(target, 8);
  const std::int32_t both = Coefficient(target, 9);
  std::uint8_t* const right = target.out + target.stride;
  target.out[0] = ToSample((dc + across + down + both) >> 3);
  target.out[1] = ToSample((dc + across - down - both) >> 3);
  right[0] = ToSample((dc - across + down - both) >> 3);
  right[1] = ToSample((dc - across - down + both) >> 3);
}

// At a reduced size: the N x N lowest frequencies through an N-point transform (as in the scaled
// transforms of libjpeg 7 and later). This shows the 8x8 block as N x N larger pixels. Exact except
// for one rounding at the end.
inline void TransformReduced(const BlockTarget& target) noexcept {
  switch (target.size_log2) {
    case 2: TransformToFour(target); break;
    case 1: TransformToTwo(target); break;
    default: target.out[0] = ToSample((Coefficient(target, 0) + 4) >> 3);
  }
}

template <BlockOrder kOrder>
inline void TransformReducedOf(const BlockTarget& target) noexcept {
  if constexpr (kOrder == kNaturalOrder) {
    TransformReduced(target);
    std::memset(target.block, 0, (kSpare + 1) * sizeof(std::int16_t));
  } else {
    std::int16_t natural[kBlockSize];
    for (std::size_t i = 0; i < kBlockSize; ++i)
      natural[kZigzag.natural[i]] = target.block[i];
    std::memset(target.block, 0, sizeof(natural));
    BlockTarget by_rows = target;
    by_rows.block = natural;
    TransformReduced(by_rows);
  }
}

template <class V, BlockOrder kOrder>
SLUICE_INLINE void TransformBlocks(const BlockTarget* targets, std::uint32_t count) noexcept {
  std::uint32_t i = 0;
  while (i < count) {
    if (targets[i].size_log2 != 3) {
      TransformReducedOf<kOrder>(targets[i]);
      ++i;
      continue;
    }
    if constexpr (V::kBlocks == 2) {
      if (i + 1 < count && targets[i + 1].size_log2 == 3 &&
          targets[i + 1].quant == targets[i].quant) {
        TransformPair<V, kOrder>(targets[i], targets[i + 1]);
        i += 2;
        continue;
      }
    }
    TransformOne<V, kOrder>(targets[i]);
    ++i;
  }
}
