// Lines of samples in NEON. Included inside a namespace of its own.

// A weight split into its two bytes: sample * weight >> 8 is sample * high + (sample * low >> 8),
// and all of this fits 16 bits.
struct SplitWeight {
  uint8x16_t low, high;
};
SLUICE_INLINE SplitWeight Split(std::uint16_t weight) noexcept {
  return {vdupq_n_u8(static_cast<std::uint8_t>(weight & 255)),
          vdupq_n_u8(static_cast<std::uint8_t>(weight >> 8))};
}

// Sixteen sums.
struct Sums16 {
  uint16x8_t low, high;
};
// Weights add up to at most 65536, so up to this many taps a sum cannot saturate: 255 * 65536 / 256
// + taps / 2 + 128 is below 65536.
constexpr std::uint32_t kSafeTaps = 254;

SLUICE_INLINE void Add(Sums16& sums, uint8x16_t samples, const SplitWeight& weight) noexcept {
  const uint8x8_t half = vget_low_u8(samples);
  sums.low = vmlal_u8(sums.low, half, vget_low_u8(weight.high));
  sums.high = vmlal_high_u8(sums.high, samples, weight.high);
  sums.low = vsraq_n_u16(sums.low, vmull_u8(half, vget_low_u8(weight.low)), 8);
  sums.high = vsraq_n_u16(sums.high, vmull_high_u8(samples, weight.low), 8);
}
// sample * weight >> 8
SLUICE_INLINE Sums16 Times(uint8x16_t samples, const SplitWeight& weight) noexcept {
  const uint8x8_t half = vget_low_u8(samples);
  return {vsraq_n_u16(vmull_u8(half, vget_low_u8(weight.high)),
                      vmull_u8(half, vget_low_u8(weight.low)), 8),
          vsraq_n_u16(vmull_high_u8(samples, weight.high), vmull_high_u8(samples, weight.low), 8)};
}
SLUICE_INLINE void AddSaturating(Sums16& sums, uint8x16_t samples,
                                 const SplitWeight& weight) noexcept {
  const Sums16 one = Times(samples, weight);
  sums.low = vqaddq_u16(sums.low, one.low);
  sums.high = vqaddq_u16(sums.high, one.high);
}
SLUICE_INLINE uint8x16_t HighBytes(const Sums16& sums) noexcept {
  return vuzp2q_u8(vreinterpretq_u8_u16(sums.low), vreinterpretq_u8_u16(sums.high));
}

// Thirty-two outputs at a time.
template <std::uint32_t kTaps, bool kSaturating>
SLUICE_INLINE void SumLinesBy(const LineSum& sum, std::size_t count, std::uint8_t* out) {
  const std::uint32_t taps = kTaps != 0 ? kTaps : sum.taps;
  const uint16x8_t bias = vdupq_n_u16(static_cast<std::uint16_t>(taps / 2 + 128));
  SplitWeight weight[kTaps != 0 ? kTaps : 1];
  for (std::uint32_t t = 0; t < kTaps; ++t)
    weight[t] = Split(sum.weights[t]);
  for (std::size_t i = 0; i < count; i += 32) {
    Sums16 a = {bias, bias};
    Sums16 b = {bias, bias};
    const std::uint8_t* line = sum.lines + i;
    for (std::uint32_t t = 0; t < taps; ++t, line += sum.stride) {
      const SplitWeight w = kTaps != 0 ? weight[t] : Split(sum.weights[t]);
      if constexpr (kSaturating) {
        AddSaturating(a, vld1q_u8(line), w);
        AddSaturating(b, vld1q_u8(line + 16), w);
      } else {
        Add(a, vld1q_u8(line), w);
        Add(b, vld1q_u8(line + 16), w);
      }
    }
    vst1q_u8(out + i, HighBytes(a));
    vst1q_u8(out + i + 16, HighBytes(b));
  }
}

// Each output has kTaps taps (sum.taps if kTaps is 0).
template <std::uint32_t kTaps>
SLUICE_INLINE void SumLinesOf(const LineSum& sum, std::size_t count, std::uint8_t* out) {
  if (kTaps == 0 && sum.taps > kSafeTaps) return SumLinesBy<0, true>(sum, count, out);
  SumLinesBy<kTaps, false>(sum, count, out);
}

// Sixteen columns of sixteen bytes.
SLUICE_INLINE void TransposeTile(const std::uint8_t* in, std::size_t in_stride, std::uint8_t* out,
                                 std::size_t out_stride) {
  uint8x16_t a[16];
  uint8x16_t b[16];
  for (std::size_t i = 0; i < 16; ++i)
    a[i] = vld1q_u8(in + i * in_stride);
  // Interleaving i with i + 8 four times is a transposition.
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 8; ++i) {
      b[2 * i] = vzip1q_u8(a[i], a[i + 8]);
      b[2 * i + 1] = vzip2q_u8(a[i], a[i + 8]);
    }
    for (int i = 0; i < 16; ++i)
      a[i] = b[i];
  }
  for (std::size_t i = 0; i < 16; ++i)
    vst1q_u8(out + i * out_stride, a[i]);
}

// Sixteen pixels as red, green and blue.
//
// vqrdmulh gives (2 * a * b + 32768) >> 16. The amounts added to Y for red and for blue depend on
// one byte each, so all 256 values could be compared with the definition (lines_plain.h): with a =
// 2 * cr and b = 22970 the result equals (91881 * cr + 32768) >> 16, and with a = 2 * cb and b =
// 29033 it equals (116130 * cb + 32768) >> 16. (No other 16-bit constant suits blue.) Green's
// constants are even, so half of each with a shift of 15 instead of 16 gives the same.
SLUICE_INLINE uint8x16x3_t ToRgb16(const std::uint8_t* y, const std::uint8_t* cb,
                                   const std::uint8_t* cr) noexcept {
  const uint8x16_t middle = vdupq_n_u8(128);
  const uint8x16_t luma = vld1q_u8(y);
  const int8x16_t blue8 = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(cb), middle));
  const int8x16_t red8 = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(cr), middle));
  uint8x8_t r[2];
  uint8x8_t g[2];
  uint8x8_t b[2];
  for (int i = 0; i < 2; ++i) {
    const int16x8_t blue = i == 0 ? vmovl_s8(vget_low_s8(blue8)) : vmovl_high_s8(blue8);
    const int16x8_t red = i == 0 ? vmovl_s8(vget_low_s8(red8)) : vmovl_high_s8(red8);
    const auto sample = [&](int16x8_t difference) {
      const uint16x8_t base = vreinterpretq_u16_s16(difference);
      return vqmovun_s16(vreinterpretq_s16_u16(i == 0 ? vaddw_u8(base, vget_low_u8(luma))
                                                      : vaddw_high_u8(base, luma)));
    };
    r[i] = sample(vqrdmulhq_n_s16(vaddq_s16(red, red), 22970));
    b[i] = sample(vqrdmulhq_n_s16(vaddq_s16(blue, blue), 29033));
    const int32x4_t low =
        vmlal_n_s16(vmull_n_s16(vget_low_s16(blue), -11277), vget_low_s16(red), -23401);
    const int32x4_t high = vmlal_high_n_s16(vmull_high_n_s16(blue, -11277), red, -23401);
    g[i] = sample(vrshrn_high_n_s32(vrshrn_n_s32(low, 15), high, 15));
  }
  return {{vcombine_u8(r[0], r[1]), vcombine_u8(g[0], g[1]), vcombine_u8(b[0], b[1])}};
}

inline void LineToRgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                      std::size_t count, std::uint8_t* rgb) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16)
    vst3q_u8(rgb + 3 * i, ToRgb16(y + i, cb + i, cr + i));
  if (i < count) {
    std::uint8_t last[48];
    vst3q_u8(last, ToRgb16(y + i, cb + i, cr + i));
    std::memcpy(rgb + 3 * i, last, 3 * (count - i));
  }
}

inline void LineToPlanes(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                         std::size_t count, std::uint8_t* rgb, std::size_t stride) {
  std::uint8_t *const r = rgb, *const g = r + stride, *const b = g + stride;
  for (std::size_t i = 0; i < count; i += 16) {
    const uint8x16x3_t pixels = ToRgb16(y + i, cb + i, cr + i);
    vst1q_u8(r + i, pixels.val[0]);
    vst1q_u8(g + i, pixels.val[1]);
    vst1q_u8(b + i, pixels.val[2]);
  }
}

inline void JoinRgb(const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b,
                    std::size_t count, std::uint8_t* rgb) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const uint8x16x3_t pixels = {{vld1q_u8(r + i), vld1q_u8(g + i), vld1q_u8(b + i)}};
    vst3q_u8(rgb + 3 * i, pixels);  // a macro in Clang: no braces inside
  }
  for (; i < count; ++i) {
    rgb[3 * i] = r[i];
    rgb[3 * i + 1] = g[i];
    rgb[3 * i + 2] = b[i];
  }
}

inline void SplitRgb(const std::uint8_t* rgb, std::size_t count, std::uint8_t* r, std::uint8_t* g,
                     std::uint8_t* b) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const uint8x16x3_t pixels = vld3q_u8(rgb + 3 * i);
    vst1q_u8(r + i, pixels.val[0]);
    vst1q_u8(g + i, pixels.val[1]);
    vst1q_u8(b + i, pixels.val[2]);
  }
  for (; i < count; ++i) {
    r[i] = rgb[3 * i];
    g[i] = rgb[3 * i + 1];
    b[i] = rgb[3 * i + 2];
  }
}

inline void MirrorRgb(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  // Five pixels, 15 bytes, at a time. The 16th byte of a store is not valid; the next store
  // overwrites it with its first byte.
  static constexpr std::uint8_t kOrder[16] = {13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0};
  const uint8x16_t order = vld1q_u8(kOrder);
  std::size_t left = count;
  for (; left >= 6; left -= 5, out += 15)
    vst1q_u8(out, vqtbl1q_u8(vld1q_u8(in + 3 * left - 16), order));
  for (; left > 0; --left, out += 3)
    std::memcpy(out, in + 3 * (left - 1), 3);
}

constexpr bool kRoundsFast = true;
constexpr bool kSplitsFast = true;

// As lines_plain.h defines it.
struct Numbers8 {
  float32x4_t low, high;
  static SLUICE_INLINE Numbers8 Of(const std::uint8_t* values, const float* scales,
                                   const float* offsets) noexcept {
    const uint16x8_t wide = vmovl_u8(vld1_u8(values));
    const float32x4_t a = vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide)));
    const float32x4_t b = vcvtq_f32_u32(vmovl_high_u16(wide));
    return {vaddq_f32(vmulq_f32(a, vld1q_f32(scales)), vld1q_f32(offsets)),
            vaddq_f32(vmulq_f32(b, vld1q_f32(scales + 4)), vld1q_f32(offsets + 4))};
  }
  SLUICE_INLINE void Store(float* out) const noexcept {
    vst1q_f32(out, low);
    vst1q_f32(out + 4, high);
  }
  SLUICE_INLINE void StoreHalves(std::uint16_t* out) const noexcept {
    vst1q_u16(out, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(low), high)));
  }
  SLUICE_INLINE void StoreBFloats(std::uint16_t* out) const noexcept {
    const auto rounded = [](float32x4_t numbers) {
      const uint32x4_t bits = vreinterpretq_u32_f32(numbers);
      const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
      return vshrn_n_u32(vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7FFF)), odd), 16);
    };
    vst1q_u16(out, vcombine_u16(rounded(low), rounded(high)));
  }
};
