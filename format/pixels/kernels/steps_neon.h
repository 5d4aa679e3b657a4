// Steps that change pixels, in NEON, as steps_plain.h defines them: those that take other values
// than a pixel's own. Included inside a namespace of its own.

// The compiler's loops: code by hand takes about as many instructions for means of 3 x 3 values,
// and three quarters of them for the places of a line.
using compiled::FindPlaces;
using compiled::SmoothLine;

// Sixteen sums, along columns and along lines.
SLUICE_INLINE void StoreSums(const int32x4_t* sums, std::int16_t* out) noexcept {
  vst1q_s16(out, vshrn_high_n_s32(vshrn_n_s32(sums[0], kColumnsShift), sums[1], kColumnsShift));
  vst1q_s16(out + 8, vshrn_high_n_s32(vshrn_n_s32(sums[2], kColumnsShift), sums[3], kColumnsShift));
}
SLUICE_INLINE void StoreSums(const int32x4_t* sums, std::uint8_t* out) noexcept {
  const auto high = [](int32x4_t a, int32x4_t b) {
    return vuzp2q_u16(vreinterpretq_u16_s32(a), vreinterpretq_u16_s32(b));
  };
  constexpr int kRest = kLinesShift - 16;
  vst1q_u8(out, vshrn_high_n_u16(vshrn_n_u16(high(sums[0], sums[1]), kRest), high(sums[2], sums[3]),
                                 kRest));
}

// Writes kVectors * 16 weighted sums, from number `at` on.
template <std::uint32_t kShift, int kVectors, class Out>
SLUICE_INLINE void BlurBlock(const BlurSum& sum, std::size_t at, Out* out) {
  int32x4_t sums[4 * kVectors];
  for (int32x4_t& some : sums)
    some = vdupq_n_s32(1 << (kShift - 1));
  const std::int16_t* a = sum.values + at;
  const std::int16_t* b = a + sum.step * (sum.taps - 1);
  for (std::uint32_t t = 0; t <= sum.taps / 2; ++t, a += sum.step, b -= sum.step) {
    const int16x8_t weight = vld1q_dup_s16(sum.weights + t);
    for (int v = 0; v < 2 * kVectors; ++v) {
      const int16x8_t both = vaddq_s16(vld1q_s16(a + 8 * v), vld1q_s16(b + 8 * v));
      sums[2 * v] = vmlsl_s16(sums[2 * v], vget_low_s16(both), vget_low_s16(weight));
      sums[2 * v + 1] = vmlsl_high_s16(sums[2 * v + 1], both, weight);
    }
  }
  for (int v = 0; v < kVectors; ++v)
    StoreSums(sums + 4 * v, out + 16 * v);
}

// The shares of the pixels after eight places.
struct Shares8 {
  int16x8_t across, down;
  explicit SLUICE_INLINE Shares8(const std::uint32_t* shares) noexcept {
    const int16x8_t low = vreinterpretq_s16_u32(vld1q_u32(shares));
    const int16x8_t high = vreinterpretq_s16_u32(vld1q_u32(shares + 4));
    across = vuzp1q_s16(low, high);
    down = vuzp2q_s16(low, high);
  }
  // The means that MixedValue() takes, of values in 1/128.
  static SLUICE_INLINE int16x8_t Mean(int16x8_t a, int16x8_t b, int16x8_t share) noexcept {
    return vaddq_s16(a, vqrdmulhq_s16(vsubq_s16(b, a), share));
  }
  SLUICE_INLINE uint8x8_t Mixed(int16x8_t above, int16x8_t below) const noexcept {
    return vqrshrun_n_s16(Mean(above, below, down), 7);
  }
};

// The channels of the pixels at eight places of a line, each channel's values one after another:
// red and green, blue and the red of the pixels after them, these pixels' green and blue.
SLUICE_INLINE void LoadChannels(const std::uint8_t* line, const std::uint32_t* at,
                                uint8x16_t* channels) noexcept {
  uint8x16_t a[8], b[4];
  for (int i = 0; i < 8; ++i)
    a[i] = vcombine_u8(vld1_u8(line + at[i]), vdup_n_u8(0));
  // As in TransposeTile(), with eight bytes of each place.
  for (int i = 0; i < 4; ++i)
    b[i] = vzip1q_u8(a[i], a[i + 4]);
  for (int i = 0; i < 2; ++i) {
    a[2 * i] = vzip1q_u8(b[i], b[i + 2]);
    a[2 * i + 1] = vzip2q_u8(b[i], b[i + 2]);
  }
  channels[0] = vzip1q_u8(a[0], a[2]);
  channels[1] = vzip2q_u8(a[0], a[2]);
  channels[2] = vzip1q_u8(a[1], a[3]);
}
template <int kHalf>
SLUICE_INLINE int16x8_t InParts(uint8x16_t values) noexcept {  // in 1/128
  return vreinterpretq_s16_u16(kHalf == 0 ? vshll_n_u8(vget_low_u8(values), 7)
                                          : vshll_high_n_u8(values, 7));
}

inline void MixRgb(const std::uint8_t* in, std::size_t stride, const std::uint32_t* offsets,
                   const std::uint32_t* shares, std::size_t count, std::uint8_t* out) {
  const auto mix = [=](const std::uint32_t* at, const std::uint32_t* shares_at, std::uint8_t* to) {
    const Shares8 share(shares_at);
    int16x8_t above[3], below[3];
    const auto load = [&](const std::uint8_t* line, int16x8_t* means) {
      uint8x16_t v[3];
      LoadChannels(line, at, v);
      means[0] = Shares8::Mean(InParts<0>(v[0]), InParts<1>(v[1]), share.across);
      means[1] = Shares8::Mean(InParts<1>(v[0]), InParts<0>(v[2]), share.across);
      means[2] = Shares8::Mean(InParts<0>(v[1]), InParts<1>(v[2]), share.across);
    };
    load(in, above);
    load(in + stride, below);
    const uint8x8x3_t mixed = {{share.Mixed(above[0], below[0]), share.Mixed(above[1], below[1]),
                                share.Mixed(above[2], below[2])}};
    vst3_u8(to, mixed);
  };
  MixByEight<3, 0>(offsets, shares, count, out, mix);
}

// The two values at each of eight places of a line, from place kPlace on.
template <int kPlace>
SLUICE_INLINE uint16x8_t LoadPairs(const std::uint8_t* line, const std::uint32_t* at,
                                   uint16x8_t pairs) noexcept {
  std::uint16_t pair;
  std::memcpy(&pair, line + at[kPlace], 2);
  pairs = vsetq_lane_u16(pair, pairs, kPlace);
  if constexpr (kPlace < 7) pairs = LoadPairs<kPlace + 1>(line, at, pairs);
  return pairs;
}

inline void MixGrey(const std::uint8_t* in, std::size_t stride, const std::uint32_t* offsets,
                    const std::uint32_t* shares, std::size_t count, std::uint8_t* out) {
  const auto mix = [=](const std::uint32_t* at, const std::uint32_t* shares_at, std::uint8_t* to) {
    const Shares8 share(shares_at);
    const auto mean = [&](const std::uint8_t* line) {
      const uint8x16_t pairs = vreinterpretq_u8_u16(LoadPairs<0>(line, at, vdupq_n_u16(0)));
      const uint8x16_t apart = vuzp1q_u8(pairs, vextq_u8(pairs, pairs, 1));
      return Shares8::Mean(InParts<0>(apart), InParts<1>(apart), share.across);
    };
    vst1_u8(to, share.Mixed(mean(in), mean(in + stride)));
  };
  MixByEight<1, 0>(offsets, shares, count, out, mix);
}
