// The vector operations of the kernels in NEON: one block to a vector, so that a whole transform
// stays in the registers. Included inside a namespace of its own.

struct Wide32 {
  int32x4_t v;
  static SLUICE_INLINE Wide32 All(std::int32_t value) noexcept { return {vdupq_n_s32(value)}; }
  template <int kBits>
  SLUICE_INLINE Wide32 Right() const noexcept {
    return {vshrq_n_s32(v, kBits)};
  }
};
SLUICE_INLINE Wide32 operator+(const Wide32& a, const Wide32& b) noexcept {
  return {vaddq_s32(a.v, b.v)};
}
SLUICE_INLINE Wide32 operator-(const Wide32& a, const Wide32& b) noexcept {
  return {vsubq_s32(a.v, b.v)};
}

// Spreads the consecutive bytes at `in` to the places of the mask's ones; zeros elsewhere. Reads
// eight bytes.
SLUICE_INLINE uint8x8_t Expanded(const std::uint8_t* in, std::uint8_t mask) noexcept {
  return vtbl1_u8(vld1_u8(in), vld1_u8(kExpand.shuffle[mask]));
}
SLUICE_INLINE std::uint64_t ExpandBytes(const std::uint8_t* in, std::uint8_t mask) noexcept {
  return vget_lane_u64(vreinterpret_u64_u8(Expanded(in, mask)), 0);
}
// Like ExpandBytes(), for signed 8-bit values, which are widened to 16 bits.
SLUICE_INLINE void ExpandLine(const std::uint8_t* in, std::uint8_t mask,
                              std::int16_t* out) noexcept {
  vst1q_s16(out, vmovl_s8(vreinterpret_s8_u8(Expanded(in, mask))));
}

// Unpacks signed 4-bit values to bytes, the low half of a byte first; -8 stands for the next byte
// of `more`. Writes up to 15 bytes more than `count`, and reads up to 15 more bytes. False if
// `more` ends too early.
inline bool UnpackNibbles(const std::uint8_t* in, std::size_t count, const std::uint8_t* more,
                          const std::uint8_t* more_end, std::uint8_t* out) noexcept {
  for (std::size_t i = 0; i < count; i += 16) {
    const uint8x8_t pairs = vld1_u8(in + i / 2);
    const uint8x8_t low = vshl_n_u8(pairs, 4);  // each value in the high half, to keep its sign
    const uint8x8_t high = vand_u8(pairs, vdup_n_u8(0xF0));
    const uint8x16_t both = vcombine_u8(vzip1_u8(low, high), vzip2_u8(low, high));
    const int8x16_t values = vshrq_n_s8(vreinterpretq_s8_u8(both), 4);
    vst1q_u8(out + i, vreinterpretq_u8_s8(values));
    if (vminvq_s8(values) != -8) continue;
    for (std::size_t k = i; k < i + 16 && k < count; ++k) {
      if (out[k] != 0xF8) continue;
      if (more == more_end) return false;
      out[k] = *more++;
    }
  }
  return true;
}

struct Vector16 {
  using Wide = Wide32;
  static constexpr int kBlocks = 1;
  int16x8_t v;
  static SLUICE_INLINE Vector16 Expand(const std::uint8_t* a, std::uint8_t mask) noexcept {
    return {vmovl_s8(vreinterpret_s8_u8(Expanded(a, mask)))};
  }
  SLUICE_INLINE void SetFirst(std::int16_t a) noexcept { v = vsetq_lane_s16(a, v, 0); }
  static SLUICE_INLINE Vector16 Load(const std::int16_t* a) noexcept { return {vld1q_s16(a)}; }
  // `b` is for sets whose vectors hold two blocks.
  static SLUICE_INLINE Vector16 Load(const std::int16_t* a, const std::int16_t* /*b*/) noexcept {
    return Load(a);
  }
  static SLUICE_INLINE Vector16 LoadTwice(const std::int16_t* a) noexcept { return Load(a); }
  static SLUICE_INLINE Vector16 LoadTwice(const std::uint16_t* a) noexcept {
    return {vreinterpretq_s16_u16(vld1q_u16(a))};
  }
  // As many values in a row as a vector holds.
  static SLUICE_INLINE Vector16 LoadRun(const std::int16_t* from) noexcept { return Load(from); }
  SLUICE_INLINE void StoreRun(std::int16_t* to) const noexcept { vst1q_s16(to, v); }
  // Eight samples, minus 128; `b` is for sets whose vectors hold two blocks.
  static SLUICE_INLINE Vector16 LoadSamples(const std::uint8_t* a,
                                            const std::uint8_t* /*b*/) noexcept {
    return {vreinterpretq_s16_u16(vsubl_u8(vld1_u8(a), vdup_n_u8(128)))};
  }
  static SLUICE_INLINE Vector16 All(std::int16_t value) noexcept { return {vdupq_n_s16(value)}; }
  template <int kBits>
  SLUICE_INLINE Vector16 Left() const noexcept {
    return {vshlq_n_s16(v, kBits)};
  }
  template <int kBits>
  SLUICE_INLINE Vector16 Right() const noexcept {
    return {vshrq_n_s16(v, kBits)};
  }
};
using BlockVector = Vector16;

SLUICE_INLINE Vector16 operator+(const Vector16& a, const Vector16& b) noexcept {
  return {vaddq_s16(a.v, b.v)};
}
SLUICE_INLINE Vector16 operator-(const Vector16& a, const Vector16& b) noexcept {
  return {vsubq_s16(a.v, b.v)};
}
SLUICE_INLINE Vector16 Multiply(const Vector16& a, const Vector16& b) noexcept {
  return {vmulq_s16(a.v, b.v)};
}

SLUICE_INLINE Vector16 Absolute(const Vector16& a) noexcept {
  return {vabsq_s16(a.v)};
}
// The high halves of products of unsigned values.
SLUICE_INLINE Vector16 MultiplyHigh(const Vector16& a, const Vector16& b) noexcept {
  const uint16x8_t x = vreinterpretq_u16_s16(a.v);
  const uint16x8_t y = vreinterpretq_u16_s16(b.v);
  const uint16x4_t low = vshrn_n_u32(vmull_u16(vget_low_u16(x), vget_low_u16(y)), 16);
  return {vreinterpretq_s16_u16(vshrn_high_n_u32(low, vmull_high_u16(x, y), 16))};
}
// -a where `b` is below zero. `a` must be zero where `b` is.
SLUICE_INLINE Vector16 WithSign(const Vector16& a, const Vector16& b) noexcept {
  const int16x8_t sign = vshrq_n_s16(b.v, 15);
  return {vsubq_s16(veorq_s16(a.v, sign), sign)};
}

// NEON's multiplications widen by themselves and can take one lane as the factor, so neighbours
// need not be interleaved in fact, nor factors spread out.
struct Interleaved {
  int16x8_t first, second;
  bool high;
};
SLUICE_INLINE Interleaved InterleaveLow(const Vector16& a, const Vector16& b) noexcept {
  return {a.v, b.v, false};
}
SLUICE_INLINE Interleaved InterleaveHigh(const Vector16& a, const Vector16& b) noexcept {
  return {a.v, b.v, true};
}

constexpr int PlaceOf(int factor) noexcept {
  int place = 0;
  while (kFactors[place] != factor)
    ++place;
  return place;
}
template <int kFirst, int kSecond>
struct FactorPair {};
template <class V, int kFirst, int kSecond>
SLUICE_INLINE FactorPair<kFirst, kSecond> Pairs() noexcept {
  return {};
}
template <int kFirst, int kSecond>
SLUICE_INLINE Wide32 MultiplyAddPairs(const Interleaved& a,
                                      FactorPair<kFirst, kSecond> /*factors*/) noexcept {
  constexpr int kOne = PlaceOf(kFirst);
  constexpr int kOther = PlaceOf(kSecond);
  const int16x8_t one = vld1q_s16(kFactors + kOne / 8 * 8);
  const int16x8_t other = vld1q_s16(kFactors + kOther / 8 * 8);
  if (a.high) {
    return {vmlal_high_laneq_s16(vmull_high_laneq_s16(a.first, one, kOne % 8), a.second, other,
                                 kOther % 8)};
  }
  return {vmlal_laneq_s16(vmull_laneq_s16(vget_low_s16(a.first), one, kOne % 8),
                          vget_low_s16(a.second), other, kOther % 8)};
}
// Widens, and shifts left.
template <int kBits>
SLUICE_INLINE Wide32 WidenLow(const Vector16& a) noexcept {
  return {vshll_n_s16(vget_low_s16(a.v), kBits)};
}
template <int kBits>
SLUICE_INLINE Wide32 WidenHigh(const Vector16& a) noexcept {
  return {vshll_high_n_s16(a.v, kBits)};
}
SLUICE_INLINE Vector16 Narrow(const Wide32& low, const Wide32& high) noexcept {
  return {vqmovn_high_s32(vqmovn_s32(low.v), high.v)};
}

SLUICE_INLINE void Transpose8(Vector16* v) noexcept {
  int32x4_t a[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = vreinterpretq_s32_s16(vtrn1q_s16(v[i].v, v[i + 1].v));
    a[i + 1] = vreinterpretq_s32_s16(vtrn2q_s16(v[i].v, v[i + 1].v));
  }
  int64x2_t b[8];
  for (int i = 0; i < 8; i += 4) {
    for (int j = i; j < i + 2; ++j) {
      b[j] = vreinterpretq_s64_s32(vtrn1q_s32(a[j], a[j + 2]));
      b[j + 2] = vreinterpretq_s64_s32(vtrn2q_s32(a[j], a[j + 2]));
    }
  }
  for (int i = 0; i < 4; ++i) {
    v[i].v = vreinterpretq_s16_s64(vtrn1q_s64(b[i], b[i + 4]));
    v[i + 4].v = vreinterpretq_s16_s64(vtrn2q_s64(b[i], b[i + 4]));
  }
}

SLUICE_INLINE void Transpose4(Wide32* w) noexcept {
  const int64x2_t a = vreinterpretq_s64_s32(vtrn1q_s32(w[0].v, w[1].v));
  const int64x2_t b = vreinterpretq_s64_s32(vtrn2q_s32(w[0].v, w[1].v));
  const int64x2_t c = vreinterpretq_s64_s32(vtrn1q_s32(w[2].v, w[3].v));
  const int64x2_t d = vreinterpretq_s64_s32(vtrn2q_s32(w[2].v, w[3].v));
  w[0].v = vreinterpretq_s32_s64(vtrn1q_s64(a, c));
  w[1].v = vreinterpretq_s32_s64(vtrn1q_s64(b, d));
  w[2].v = vreinterpretq_s32_s64(vtrn2q_s64(a, c));
  w[3].v = vreinterpretq_s32_s64(vtrn2q_s64(b, d));
}

// Numbers below 2^30 as high * 2^15 + low.
struct Parts {
  Interleaved high, low;
};
SLUICE_INLINE Parts InterleaveParts(const Wide32& a, const Wide32& b) noexcept {
  const int16x4_t low = vdup_n_s16(0x7FFF), zero = vdup_n_s16(0);
  return {
      {vcombine_s16(vshrn_n_s32(a.v, 15), zero), vcombine_s16(vshrn_n_s32(b.v, 15), zero), false},
      {vcombine_s16(vand_s16(vmovn_s32(a.v), low), zero),
       vcombine_s16(vand_s16(vmovn_s32(b.v), low), zero), false}};
}

// The first four values of `a`, then those of `b`.
SLUICE_INLINE Vector16 JoinFours(const Vector16& a, const Vector16& b) noexcept {
  return {vcombine_s16(vget_low_s16(a.v), vget_low_s16(b.v))};
}
// The first two values of `a` and of `b`, then these four again.
SLUICE_INLINE Vector16 JoinTwos(const Vector16& a, const Vector16& b) noexcept {
  const int16x4_t both = vreinterpret_s16_s32(
      vzip1_s32(vreinterpret_s32_s16(vget_low_s16(a.v)), vreinterpret_s32_s16(vget_low_s16(b.v))));
  return {vcombine_s16(both, both)};
}
// JoinTwos() of a block's first two rows, in zigzag order; `b` is for sets whose vectors hold two.
SLUICE_INLINE Vector16 LoadZigzagTwos(const std::int16_t* a, const std::int16_t* /*b*/) noexcept {
  const std::uint8_t places[16] = {0, 1, 2, 3, 4, 5, 8, 9, 0, 1, 2, 3, 4, 5, 8, 9};
  return {vreinterpretq_s16_u8(vqtbl1q_u8(vreinterpretq_u8_s16(vld1q_s16(a)), vld1q_u8(places)))};
}

// The inverse transform of 2 x 2 values that JoinTwos() made. The results are multiplied by eight,
// and come column by column.
SLUICE_INLINE Wide32 TwoPoints(const Vector16& a) noexcept {
  const std::int16_t signs[4] = {1, -1, 1, -1};
  const std::int32_t minus[4] = {1, -1, 1, -1};
  // Sums of both rows, then differences.
  const int32x4_t rows =
      vpaddq_s32(vmovl_s16(vget_low_s16(a.v)), vmull_s16(vget_high_s16(a.v), vld1_s16(signs)));
  return {vmlaq_s32(vrev64q_s32(rows), rows, vld1q_s32(minus))};
}

// Four columns of four samples, two in each vector; `b` is for sets whose vectors hold two blocks.
SLUICE_INLINE void StoreFours(const Vector16* v, std::uint8_t* a, std::uint8_t* /*b*/,
                              std::size_t stride) noexcept {
  const int8x16_t both = vqmovn_high_s16(vqmovn_s16(v[0].v), v[1].v);
  const uint8x16_t samples = veorq_u8(vreinterpretq_u8_s8(both), vdupq_n_u8(0x80));
  alignas(16) std::uint8_t columns[16];
  vst1q_u8(columns, samples);
  for (std::size_t x = 0; x < 4; ++x)
    std::memcpy(a + x * stride, columns + x * 4, 4);
}

// Two columns of two samples.
SLUICE_INLINE void StoreTwos(const Vector16& v, std::uint8_t* a, std::uint8_t* /*b*/,
                             std::size_t stride) noexcept {
  const uint8x8_t samples = veor_u8(vreinterpret_u8_s8(vqmovn_s16(v.v)), vdup_n_u8(0x80));
  const std::uint32_t both = vget_lane_u32(vreinterpret_u32_u8(samples), 0);
  const auto left = static_cast<std::uint16_t>(both),
             right = static_cast<std::uint16_t>(both >> 16);
  std::memcpy(a, &left, 2);
  std::memcpy(a + stride, &right, 2);
}

SLUICE_INLINE void StoreColumns(const Vector16* v, std::uint8_t* a, std::size_t stride) noexcept {
  const uint8x16_t middle = vdupq_n_u8(0x80);
  for (std::size_t x = 0; x < 8; x += 2) {
    const int8x16_t both = vqmovn_high_s16(vqmovn_s16(v[x].v), v[x + 1].v);
    const uint8x16_t samples = veorq_u8(vreinterpretq_u8_s8(both), middle);
    vst1_u8(a + x * stride, vget_low_u8(samples));
    vst1_u8(a + (x + 1) * stride, vget_high_u8(samples));
  }
}

constexpr bool kStrandsPay = true;

// Consecutive coefficients.
using Coefficients = int16x8_t;

// The values of a look-up, then a zero. `late`, those bits of the first value that follow the bits
// looked up, is added to the first value.
SLUICE_INLINE Coefficients ValuesOf(const baseline::StrandValues& values,
                                    std::uint64_t late) noexcept {
  const int16x8_t known = vsetq_lane_s16(0, vld1q_s16(values.value), 7);
  return vaddq_s16(known, vsetq_lane_s16(static_cast<std::int16_t>(late), vdupq_n_s16(0), 0));
}

SLUICE_INLINE void StoreValues(Coefficients values, std::int16_t* out) noexcept {
  vst1q_s16(out, values);
}

// Loads the rows of a block that is in zigzag order.
SLUICE_INLINE void LoadZigzag(const std::int16_t* a, Vector16* v) noexcept {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(a);
  const uint8x16x4_t low = vld1q_u8_x4(bytes);
  const uint8x16x4_t high = vld1q_u8_x4(bytes + 64);
  for (int row = 0; row < 8; ++row) {
    const uint8x16_t places = vld1q_u8(kZigzagGather.place[row]);
    const uint8x16_t from_low = vqtbl4q_u8(low, places);
    v[row].v = vreinterpretq_s16_u8(vqtbx4q_u8(from_low, high, vsubq_u8(places, vdupq_n_u8(64))));
  }
}

// Loads the 4 x 4 lowest frequencies of a block that is in zigzag order, as JoinFours() of rows 0
// and 1, and of rows 2 and 3; `b` is for sets whose vectors hold two.
SLUICE_INLINE void LoadZigzagFours(const std::int16_t* a, const std::int16_t* /*b*/,
                                   Vector16* v) noexcept {
  const uint8x16x4_t first = vld1q_u8_x4(reinterpret_cast<const std::uint8_t*>(a));
  for (int i = 0; i < 2; ++i)
    v[i].v = vreinterpretq_s16_u8(vqtbl4q_u8(first, vld1q_u8(kZigzagFours.place[i])));
}

// Stores the rows of a block in zigzag order; `b` is for sets whose vectors hold two.
SLUICE_INLINE void StoreZigzag(const Vector16* v, std::int16_t* a, std::int16_t* /*b*/) noexcept {
  uint8x16x4_t low, high;
  for (int row = 0; row < 4; ++row) {
    low.val[row] = vreinterpretq_u8_s16(v[row].v);
    high.val[row] = vreinterpretq_u8_s16(v[row + 4].v);
  }
  for (int i = 0; i < 8; ++i) {
    const uint8x16_t places = vld1q_u8(kZigzagScatter.place[i]);
    const uint8x16_t from_low = vqtbl4q_u8(low, places);
    vst1q_s16(a + i * 8,
              vreinterpretq_s16_u8(vqtbx4q_u8(from_low, high, vsubq_u8(places, vdupq_n_u8(64)))));
  }
}

// Stores the rows of a block as they are, in natural order.
SLUICE_INLINE void StoreRows(const Vector16* v, std::int16_t* a, std::int16_t* /*b*/) noexcept {
  for (int row = 0; row < 8; ++row)
    vst1q_s16(a + row * 8, v[row].v);
}

// A bit for each of a block's coefficients: whether it is not zero.
SLUICE_INLINE std::uint64_t NonZeroMask(const std::int16_t* block) noexcept {
  const std::uint8_t bits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bit = vld1q_u8(bits);
  uint8x16_t part[4];
  for (int i = 0; i < 4; ++i) {
    const int16x8_t low = vld1q_s16(block + i * 16);
    const int16x8_t high = vld1q_s16(block + i * 16 + 8);
    part[i] = vandq_u8(vmovn_high_u16(vmovn_u16(vtstq_s16(low, low)), vtstq_s16(high, high)), bit);
  }
  const uint8x16_t sums = vpaddq_u8(vpaddq_u8(part[0], part[1]), vpaddq_u8(part[2], part[3]));
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
}
