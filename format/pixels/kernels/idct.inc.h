// Inverse DCT of 8x8 blocks: the algorithm of Loeffler, Ligtenberg and Moschytz (1989) with twelve
// multiplications, in the fixed-point arithmetic of libjpeg's accurate integer transform (13 bits
// of constants, two more bits kept between the passes), so that the bytes are those of libjpeg. The
// output is stored by columns, which saves one of the two transpositions.
//
// At a reduced size the N x N lowest frequencies go through an N-point transform, as in the scaled
// transforms of libjpeg 7 and later. The result shows the 8x8 block as N x N larger pixels. The
// arithmetic is exact for any coefficients, except for one rounding at the end, so that every
// instruction set gives the same bytes: for 4 x 4, sums that need 45 bits are kept as two numbers
// of 32 (LongSum).
//
// Included once for each instruction set.

// The order of a block's coefficients. A block in natural order has a spare place after its end
// (kSpare); a block in zigzag order, the order of coding, has none.
enum BlockOrder { kNaturalOrder, kZigzagOrder };

struct BlockTarget {
  std::int16_t* block;  // zeros are left behind
  const std::int16_t* quant;
  std::uint8_t* out;  // by columns
  std::size_t stride;
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
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kBlockSize; i += std::size_t{8} * BlockVector::kBlocks)
    BlockVector::All(0).StoreRun(block + i);
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

// Transforms one block. Vectors that hold two blocks have zeros for the second.
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
    TransformPair<V, kOrder>(a, {nothing, a.quant, nowhere, 8});
  }
}

// Transforms two blocks of the same quantisation.
template <class V, BlockOrder kOrder>
SLUICE_INLINE void TransformTwo(const BlockTarget& a, const BlockTarget& b) noexcept {
  if constexpr (V::kBlocks == 2) {
    TransformPair<V, kOrder>(a, b);
  } else {
    TransformOne<V, kOrder>(a);
    TransformOne<V, kOrder>(b);
  }
}

// A sum of more than 32 bits: high * 2^15 + low. A number below 2^30 is multiplied by a factor in
// two parts, its upper and its lower 15 bits; only the last shift puts the sums of both parts
// together.
template <class W>
struct LongSum {
  W high, low;
  SLUICE_INLINE friend LongSum operator+(const LongSum& a, const LongSum& b) noexcept {
    return {a.high + b.high, a.low + b.low};
  }
  SLUICE_INLINE friend LongSum operator-(const LongSum& a, const LongSum& b) noexcept {
    return {a.high - b.high, a.low - b.low};
  }
};

// Four frequencies to four samples, with 13 bits of fraction more. `multiply` adds up the products
// of two frequencies, 0 and 2 or 1 and 3, with two factors.
template <class V, class In, class Multiply, class Out>
SLUICE_INLINE void FourPoints(const In& even, const In& odd, const Multiply& multiply,
                              Out* out) noexcept {
  const Out outer = multiply(even, Pairs<V, k1000, k1000>());
  const Out inner = multiply(even, Pairs<V, k1000, -k1000>());
  const Out slow = multiply(odd, Pairs<V, k1306, k0541>());
  const Out fast = multiply(odd, Pairs<V, k0541, -k1306>());
  out[0] = outer + slow;
  out[1] = inner + fast;
  out[2] = inner - fast;
  out[3] = outer - slow;
}

// Transforms 4 x 4 coefficients, given as rows 0 and 1 and as rows 2 and 3, to two pairs of
// columns.
template <class V>
SLUICE_INLINE void TransformToFour(const V* rows, V* columns) noexcept {
  using W = typename V::Wide;
  W down[4];  // below 2^30, also after the addition below
  FourPoints<V>(
      InterleaveLow(rows[0], rows[1]), InterleaveHigh(rows[0], rows[1]),
      [](const auto& a, const auto& factors)
          __attribute__((always_inline)) { return MultiplyAddPairs(a, factors); },
      down);
  Transpose4(down);
  down[0] = down[0] + W::All(1 << (kConstBits + 2));  // half of what the shifts below take
  LongSum<W> across[4];
  FourPoints<V>(
      InterleaveParts(down[0], down[2]), InterleaveParts(down[1], down[3]),
      [](const auto& a, const auto& factors) __attribute__((always_inline)) {
        return LongSum<W>{MultiplyAddPairs(a.high, factors), MultiplyAddPairs(a.low, factors)};
      },
      across);
  W column[4];
  for (int x = 0; x < 4; ++x) {
    const W sum = across[x].high + across[x].low.template Right<15>();
    column[x] = sum.template Right<2 * kConstBits + 3 - 15>();
  }
  columns[0] = Narrow(column[0], column[1]);
  columns[1] = Narrow(column[2], column[3]);
}

// Transforms 2 x 2 coefficients, as JoinTwos() gives them, to two columns.
template <class V>
SLUICE_INLINE V TransformToTwo(const V& square) noexcept {
  using W = typename V::Wide;
  const W sums = (TwoPoints(square) + W::All(4)).template Right<3>();
  return Narrow(sums, sums);
}

// The coefficients of a reduced transform, in the form that it takes: two vectors for 4 x 4, and
// one for 2 x 2 (JoinTwos()). `row`: the block's first rows.
template <class V, std::uint32_t kSizeLog2>
SLUICE_INLINE void JoinRows(const V* row, V* low) noexcept {
  if constexpr (kSizeLog2 == 2) {
    low[0] = JoinFours(row[0], row[1]);
    low[1] = JoinFours(row[2], row[3]);
  } else {
    low[0] = JoinTwos(row[0], row[1]);
  }
}

// Loads the coefficients of a reduced transform, of as many blocks as a vector holds.
template <class V, BlockOrder kOrder, std::uint32_t kSizeLog2>
SLUICE_INLINE void LoadLow(const std::int16_t* a, const std::int16_t* b, V* low) noexcept {
  if constexpr (kOrder == kNaturalOrder) {
    V row[1 << kSizeLog2];
    for (int v = 0; v < 1 << kSizeLog2; ++v)
      row[v] = V::Load(a + v * 8, b + v * 8);
    JoinRows<V, kSizeLog2>(row, low);
  } else if constexpr (kSizeLog2 == 2) {
    LoadZigzagFours(a, b, low);
  } else {
    low[0] = LoadZigzagTwos(a, b);
  }
}

// The quantisation steps of the coefficients that LoadLow() loads.
template <class V, std::uint32_t kSizeLog2>
struct LowSteps {
  V of[2];
  SLUICE_INLINE explicit LowSteps(const std::int16_t* quant) noexcept {
    LoadLow<V, kNaturalOrder, kSizeLog2>(quant, quant, of);
  }
};

template <class V, std::uint32_t kSizeLog2>
SLUICE_INLINE void TransformLow(const V* low, const LowSteps<V, kSizeLog2>& steps, std::uint8_t* a,
                                std::uint8_t* b, std::size_t stride) noexcept {
  if constexpr (kSizeLog2 == 2) {
    const V rows[2] = {Multiply(low[0], steps.of[0]), Multiply(low[1], steps.of[1])};
    V columns[2];
    TransformToFour(rows, columns);
    StoreFours(columns, a, b, stride);
  } else {
    StoreTwos(TransformToTwo(Multiply(low[0], steps.of[0])), a, b, stride);
  }
}

// Transforms a block to one sample, its mean.
SLUICE_INLINE std::uint8_t TransformToOne(std::int16_t dc, std::int16_t step) noexcept {
  const int sample = (static_cast<std::int16_t>(dc * step) + 4 + 128 * 8) >> 3;
  return static_cast<std::uint8_t>(sample < 0 ? 0 : sample > 255 ? 255 : sample);
}

// Blocks of one component whose samples lie side by side: at most those of a run (strands.h).
constexpr std::uint32_t kMaxRow = 16;
struct BlockLine {
  BlockTarget first;
  // From the first block to the second, and from a pair to the next, in coefficients.
  std::size_t second, pair;
  std::uint32_t count;
};

// Calls use(a, b) for each pair of blocks. If the last block has no partner, it is both `a` and
// `b`.
template <class Use>
SLUICE_INLINE void ForEachPair(const BlockLine& row, std::uint32_t size_log2,
                               const Use& use) noexcept {
  BlockTarget a = row.first;
  const std::size_t width = a.stride << size_log2;
  for (std::uint32_t i = 0; i < row.count; i += 2) {
    BlockTarget b = a;
    if (i + 1 < row.count) {
      b.block += row.second;
      b.out += width;
    }
    use(a, b);
    a.block += row.pair;
    a.out += 2 * width;
  }
}

template <class V, BlockOrder kOrder, std::uint32_t kSizeLog2>
SLUICE_INLINE void TransformLineReduced(const BlockLine& row) noexcept {
  const LowSteps<V, kSizeLog2> steps(row.first.quant);
  ForEachPair(
      row, kSizeLog2,
      [&steps](const BlockTarget& a, const BlockTarget& b) __attribute__((always_inline)) {
        const BlockTarget targets[2] = {a, b};
        V low[2][2];
        for (int i = 0; i < 2; i += V::kBlocks) {
          LoadLow<V, kOrder, kSizeLog2>(targets[i].block, targets[i + V::kBlocks - 1].block,
                                        low[i]);
        }
        Clear<kOrder>(a.block);
        Clear<kOrder>(b.block);
        for (int i = 0; i < 2; i += V::kBlocks) {
          TransformLow<V, kSizeLog2>(low[i], steps, targets[i].out, targets[i + V::kBlocks - 1].out,
                                     a.stride);
        }
      });
}

// Transforms each block of a row to its mean. A row has at most kMaxRow blocks, so the transform is
// one loop over a fixed number of means.
template <BlockOrder kOrder>
SLUICE_INLINE void TransformLineToMeans(const BlockLine& row) noexcept {
  std::int16_t means[kMaxRow] = {};
  std::uint8_t samples[kMaxRow];
  const std::int16_t step = row.first.quant[0];
  std::int16_t* next = means;
  ForEachPair(
      row, 0, [&next](const BlockTarget& a, const BlockTarget& b) __attribute__((always_inline)) {
        next[0] = a.block[0];
        next[1] = b.block[0];
        next += 2;
        Clear<kOrder>(a.block);
        Clear<kOrder>(b.block);
      });
#pragma GCC unroll 1  // GCC makes vector code of a loop, but not of 16 statements
  for (std::size_t i = 0; i < kMaxRow; ++i)
    samples[i] = TransformToOne(means[i], step);
  for (std::size_t i = 0; i < row.count; ++i)
    row.first.out[i * row.first.stride] = samples[i];
}
