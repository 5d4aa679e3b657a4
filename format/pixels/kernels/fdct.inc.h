// Forward DCT of 8x8 blocks and quantisation: the algorithm of idct.inc.h run the other way, in the
// fixed-point arithmetic of libjpeg's accurate integer transform, so that the coefficients are
// those of libjpeg. Included once for each instruction set.

// One pass over eight vectors. The first pass keeps kPassBits more bits, the second drops them.
template <class V, bool kFirst>
SLUICE_INLINE void ForwardPass(V* v) noexcept {
  using W = typename V::Wide;
  constexpr int kShift = kFirst ? kConstBits - kPassBits : kConstBits + kPassBits;
  const W round = W::All(1 << (kShift - 1));
  const V sum07 = v[0] + v[7], sum16 = v[1] + v[6], sum25 = v[2] + v[5], sum34 = v[3] + v[4];
  const V d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];
  // Even part.
  const V sum = sum07 + sum34, other_sum = sum16 + sum25;
  const V outer = sum07 - sum34, inner = sum16 - sum25;
  if constexpr (kFirst) {
    v[0] = (sum + other_sum).template Left<kPassBits>();
    v[4] = (sum - other_sum).template Left<kPassBits>();
  } else {
    const V half = V::All(1 << (kPassBits - 1));
    v[0] = (sum + other_sum + half).template Right<kPassBits>();
    v[4] = (sum - other_sum + half).template Right<kPassBits>();
  }
  // Odd part.
  const V z3 = d3 + d1, z4 = d2 + d0;
  W to[8][2];
  for (int half = 0; half < 2; ++half) {
    const auto even = half == 0 ? InterleaveLow(inner, outer) : InterleaveHigh(inner, outer);
    const auto z34 = half == 0 ? InterleaveLow(z3, z4) : InterleaveHigh(z3, z4);
    const auto d30 = half == 0 ? InterleaveLow(d3, d0) : InterleaveHigh(d3, d0);
    const auto d21 = half == 0 ? InterleaveLow(d2, d1) : InterleaveHigh(d2, d1);
    const W a = MultiplyAddPairs(z34, Pairs<V, k1175 - k1961, k1175>()) + round;
    const W b = MultiplyAddPairs(z34, Pairs<V, k1175, k1175 - k0390>()) + round;
    to[2][half] = MultiplyAddPairs(even, Pairs<V, k0541, k0541 + k0765>()) + round;
    to[6][half] = MultiplyAddPairs(even, Pairs<V, k0541 - k1847, k0541>()) + round;
    to[7][half] = MultiplyAddPairs(d30, Pairs<V, k0298 - k0899, -k0899>()) + a;
    to[1][half] = MultiplyAddPairs(d30, Pairs<V, -k0899, k1501 - k0899>()) + b;
    to[5][half] = MultiplyAddPairs(d21, Pairs<V, k2053 - k2562, -k2562>()) + b;
    to[3][half] = MultiplyAddPairs(d21, Pairs<V, -k2562, k3072 - k2562>()) + a;
  }
  for (int i = 1; i < 8; ++i) {
    if (i == 4) continue;
    v[i] = Narrow(to[i][0].template Right<kShift>(), to[i][1].template Right<kShift>());
  }
}

// Transforms the block that begins at `samples` and, in vectors that hold two blocks, the next one
// to quantised coefficients, which go to `a` and `b`.
template <class V, bool kNatural>
SLUICE_INLINE void ForwardTransform(const ForwardLine& row, const std::uint8_t* samples,
                                    std::int16_t* a, std::int16_t* b) noexcept {
  const ForwardSteps& steps = *row.steps;
  const std::size_t next = row.by_columns ? 8 * row.stride : 8;
  V v[8];
  for (std::size_t line = 0; line < 8; ++line) {
    const std::uint8_t* const from = samples + line * row.stride;
    v[line] = V::LoadSamples(from, from + next);
  }
  if (!row.by_columns) Transpose8(v);
  ForwardPass<V, true>(v);
  Transpose8(v);
  ForwardPass<V, false>(v);
  for (std::size_t y = 0; y < 8; ++y) {
    // The nearest quotient, ties away from zero.
    const V size = Absolute(v[y]) + V::LoadTwice(steps.half + y * 8);
    const V scaled = MultiplyHigh(size, V::LoadTwice(steps.reciprocal + y * 8));
    v[y] = WithSign(MultiplyHigh(scaled, V::LoadTwice(steps.scale + y * 8)), v[y]);
  }
  if constexpr (kNatural) {
    StoreRows(v, a, b);
  } else {
    StoreZigzag(v, a, b);
  }
}

template <bool kNatural>
inline void TransformLineIn(const ForwardLine& row) {
  using V = BlockVector;
  alignas(64) std::int16_t nowhere[kBlockSize];
  const auto place = [&](std::uint32_t x) {
    return x < row.blocks ? row.out + x / row.across * row.mcu_stride + x % row.across * kBlockSize
                          : nowhere;
  };
  const std::size_t block = row.by_columns ? 8 * row.stride : 8;
  for (std::uint32_t x = 0; x < row.blocks; x += V::kBlocks)
    ForwardTransform<V, kNatural>(row, row.samples + x * block, place(x), place(x + 1));
}

inline void TransformLine(const ForwardLine& row) {
  if (row.natural) return TransformLineIn<true>(row);
  TransformLineIn<false>(row);
}

// Conversions from RGB to the samples that a JPEG stores, with the values that libjpeg gives them.
// These are plain loops, which the compiler vectorises: __restrict tells it that lines do not
// overlap.

// JFIF 1.02: the weights in 1/65536; rounded to the nearest, ties up for Y and down for the others.
inline void LineToYcc(const std::uint8_t* rgb, std::size_t stride, std::size_t count,
                      std::uint8_t* __restrict y, std::uint8_t* __restrict cb,
                      std::uint8_t* __restrict cr) {
  const std::uint8_t *const r = rgb, *const g = r + stride, *const b = g + stride;
  constexpr std::int32_t kMiddle = (128 << 16) + 32767;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t red = r[i], green = g[i], blue = b[i];
    y[i] = static_cast<std::uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 32768) >> 16);
    cb[i] = static_cast<std::uint8_t>((blue * 32768 - red * 11059 - green * 21709 + kMiddle) >> 16);
    cr[i] = static_cast<std::uint8_t>((red * 32768 - green * 27439 - blue * 5329 + kMiddle) >> 16);
  }
}

// Means of 2 x 2 values. Alternately 1 and 2 are added before the division, so that the means are
// neither too small nor too large on the whole.
inline void HalveLines(const std::uint8_t* above, const std::uint8_t* below, std::size_t count,
                       std::uint8_t* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t sum = std::uint32_t{above[2 * i]} + above[2 * i + 1] + below[2 * i] +
                              below[2 * i + 1] + 1 + static_cast<std::uint32_t>(i & 1);
    out[i] = static_cast<std::uint8_t>(sum >> 2);
  }
}
