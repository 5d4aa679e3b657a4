// Turns a JPEG's blocks into those of another JPEG of the same picture, without decoding them to
// samples: coefficients are requantised with other steps. Chroma that is to be halved becomes
// samples of half the size, by a transform that gives the means of 2x2 samples. Included once for
// each instruction set.

// Requantises a block in zigzag order. Lanes of `beyond` become -1 where a magnitude is above
// steps.most.
template <class V>
SLUICE_INLINE void Requantise(const std::int16_t* block, const NewSteps& steps, std::int16_t* out,
                              V& beyond) noexcept {
  constexpr std::size_t kRun = 8 * V::kBlocks;
  for (std::size_t i = 0; i < kBlockSize; i += kRun) {
    const V value = V::LoadRun(block + i);
    const V magnitude = Absolute(value);
    const V above = (V::LoadRun(steps.most + i) - magnitude).template Right<15>();
    beyond = (beyond + above).template Right<15>();  // stays -1
    const V size = Multiply(magnitude, V::LoadRun(steps.step + i)) + V::LoadRun(steps.half + i);
    const V scaled = MultiplyHigh(size, V::LoadRun(steps.reciprocal + i));
    WithSign(MultiplyHigh(scaled, V::LoadRun(steps.scale + i)), value).StoreRun(out + i);
  }
}

// One pass over eight vectors. The first four become the means of every two of the eight outputs of
// Pass(). In the second pass (kHalf), only the lanes of the first four rows count.
template <class V, int kShift, bool kHalf>
SLUICE_INLINE void MeansPass(V* v) noexcept {
  using W = typename V::Wide;
  const W round = W::All(1 << (kShift - 1));
  W sum[4][2];
  for (int half = 0; half < (kHalf ? 1 : 2); ++half) {
    const auto v26 = half == 0 ? InterleaveLow(v[2], v[6]) : InterleaveHigh(v[2], v[6]);
    const auto v17 = half == 0 ? InterleaveLow(v[1], v[7]) : InterleaveHigh(v[1], v[7]);
    const auto v35 = half == 0 ? InterleaveLow(v[3], v[5]) : InterleaveHigh(v[3], v[5]);
    const W mean = (half == 0 ? WidenLow<kConstBits>(v[0]) : WidenHigh<kConstBits>(v[0])) + round;
    const W even = MultiplyAddPairs(v26, Pairs<V, kMeans[2][0], kMeans[6][0]>());
    const W outer = MultiplyAddPairs(v17, Pairs<V, kMeans[1][0], kMeans[7][0]>()) +
                    MultiplyAddPairs(v35, Pairs<V, kMeans[3][0], kMeans[5][0]>());
    const W inner = MultiplyAddPairs(v17, Pairs<V, kMeans[1][1], kMeans[7][1]>()) +
                    MultiplyAddPairs(v35, Pairs<V, kMeans[3][1], kMeans[5][1]>());
    sum[0][half] = mean + even + outer;
    sum[3][half] = mean + even - outer;
    sum[1][half] = mean - even + inner;
    sum[2][half] = mean - even - inner;
  }
  for (int i = 0; i < 4; ++i) {
    const W low = sum[i][0].template Right<kShift>();
    v[i] = Narrow(low, kHalf ? low : sum[i][1].template Right<kShift>());
  }
}

// Transforms to 4x4 samples by columns, each the mean of 2x2.
template <class V>
SLUICE_INLINE void TransformToMeans(V* v) noexcept {
  MeansPass<V, kConstBits - kPassBits, false>(v);
  for (int i = 4; i < 8; ++i)
    v[i] = V::All(0);
  Transpose8(v);
  MeansPass<V, kConstBits + kPassBits + 3, true>(v);
}

// Halves a block of which only `columns` x `rows` samples lie in the picture: where one of four
// samples is missing, its neighbour counts twice.
inline void HalveEdge(const BlockTarget& target, std::uint32_t columns,
                      std::uint32_t rows) noexcept {
  alignas(64) std::uint8_t samples[64];
  TransformOne<BlockVector, kZigzagOrder>({target.block, target.quant, samples, 8});
  for (std::uint32_t x = 0; x < columns; x += 2) {
    const std::uint8_t* const a = samples + x * 8;
    const std::uint8_t* const b = x + 1 < columns ? a + 8 : a;
    for (std::uint32_t y = 0; y < rows; y += 2) {
      const std::uint32_t below = y + 1 < rows ? y + 1 : y;
      target.out[x / 2 * target.stride + y / 2] =
          static_cast<std::uint8_t>((a[y] + a[below] + b[y] + b[below] + 2) / 4);
    }
  }
}

SLUICE_INLINE void PutMeans(const std::uint8_t* columns, const BlockTarget& target) noexcept {
  for (std::size_t x = 0; x < 4; ++x)
    std::memcpy(target.out + x * target.stride, columns + x * 8, 4);
}

// Halves the same block of two components.
template <class V>
SLUICE_INLINE void Halve(const BlockTarget& a, const BlockTarget& b) noexcept {
  alignas(64) std::uint8_t means[2][64];
  V v[8];
  if constexpr (V::kBlocks == 2) {
    LoadZigzag(a.block, b.block, v);
    for (int row = 0; row < 8; ++row)
      v[row] = Multiply(v[row], V::Load(a.quant + row * 8, b.quant + row * 8));
    TransformToMeans(v);
    StoreColumns(v, means[0], 8, means[1], 8);
  } else {
    for (int i = 0; i < 2; ++i) {
      const BlockTarget& of = i == 0 ? a : b;
      LoadZigzag(of.block, v);
      for (int row = 0; row < 8; ++row)
        v[row] = Multiply(v[row], V::Load(of.quant + row * 8));
      TransformToMeans(v);
      StoreColumns(v, means[i], 8);
    }
  }
  Clear<kZigzagOrder>(a.block);
  Clear<kZigzagOrder>(b.block);
  PutMeans(means[0], a);
  PutMeans(means[1], b);
}

SLUICE_INLINE std::int16_t* TargetAt(const BlockPlaces& places, std::uint32_t x,
                                     std::uint32_t y) noexcept {
  const std::uint32_t of_mcu =
      (y & ((1U << places.v_log2) - 1)) << places.h_log2 | (x & ((1U << places.h_log2) - 1));
  return places.first + (x >> places.h_log2) * places.mcu + (y >> places.v_log2) * places.row +
         of_mcu * kBlockSize;
}

template <class V>
SLUICE_INLINE void ToNaturalOrder(const std::int16_t* block, std::int16_t* out) noexcept {
  V v[8];
  if constexpr (V::kBlocks == 2) {
    alignas(64) std::int16_t nowhere[kBlockSize];
    LoadZigzag(block, block, v);
    StoreRows(v, out, nowhere);
  } else {
    LoadZigzag(block, v);
    StoreRows(v, out, nullptr);
  }
}

// Recodes the MCU at (x, y), whose blocks are `stride` apart, and leaves zeros in them.
template <class V>
SLUICE_INLINE void RecodeMcu(const SegmentJob& job, std::int16_t* block, std::size_t stride,
                             std::uint32_t x, std::uint32_t y, V& beyond) noexcept {
  const Recoding& recoding = *job.recoding;
  const std::uint32_t kept = recoding.halves_chroma ? 1 : job.components;
  for (std::uint32_t c = 0; c < kept; ++c) {
    const ComponentJob& from = job.component[c];
    const Recoding::Component& component = recoding.component[c];
    const BlockPlaces& to = component.to;
    for (std::uint32_t v = y * from.down; v < (y + 1) * from.down; ++v) {
      for (std::uint32_t h = x * from.across; h < (x + 1) * from.across; ++h, block += stride) {
        alignas(64) std::int16_t made[kBlockSize];
        std::int16_t* const out = h < to.across && v < to.down ? TargetAt(to, h, v) : made;
        std::int16_t* const zigzag = recoding.natural ? made : out;
        if (component.steps != nullptr) {
          Requantise(block, *component.steps, zigzag, beyond);
        } else {
          std::memcpy(zigzag, block, sizeof(made));
        }
        Clear<kZigzagOrder>(block);
        if (recoding.natural && out != made) ToNaturalOrder<V>(made, out);
      }
    }
  }
  if (!recoding.halves_chroma) return;
  BlockTarget halved[2];
  for (BlockTarget& target : halved) {
    const ComponentJob& from = job.component[1 + (&target - halved)];
    target = {block, from.quant, from.plane + std::size_t{x} * 4 * from.stride + std::size_t{y} * 4,
              from.stride};
    block += stride;
  }
  const std::uint32_t columns = recoding.width - x * 8;
  const std::uint32_t rows = recoding.height - y * 8;
  if ((columns < 8 && columns % 2 != 0) || (rows < 8 && rows % 2 != 0)) {
    for (const BlockTarget& target : halved)
      HalveEdge(target, columns < 8 ? columns : 8, rows < 8 ? rows : 8);
  } else {
    Halve<V>(halved[0], halved[1]);
  }
}

// Call it after a run of MCUs.
template <class V>
SLUICE_INLINE void NoteBeyond(const SegmentJob& job, const V& beyond) noexcept {
  std::int16_t marks[8 * V::kBlocks];
  beyond.StoreRun(marks);
  for (const std::int16_t mark : marks)
    job.recoding->beyond = job.recoding->beyond || mark != 0;
}
