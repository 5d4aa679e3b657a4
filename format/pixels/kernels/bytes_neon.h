// Vectors of bytes, which steps change (steps_vector.inc.h), in NEON. Included inside a namespace
// of its own.

struct Bytes {
  static constexpr std::size_t kCount = 16;
  uint8x16_t v;
  static SLUICE_INLINE Bytes Load(const std::uint8_t* values) noexcept {
    return {vld1q_u8(values)};
  }
  static SLUICE_INLINE Bytes All(std::uint8_t value) noexcept { return {vdupq_n_u8(value)}; }
  SLUICE_INLINE void Store(std::uint8_t* values) const noexcept { vst1q_u8(values, v); }
};
SLUICE_INLINE Bytes operator-(const Bytes& a, const Bytes& b) noexcept {
  return {vsubq_u8(a.v, b.v)};
}
SLUICE_INLINE Bytes AddSaturated(const Bytes& a, const Bytes& b) noexcept {
  return {vqaddq_u8(a.v, b.v)};
}
SLUICE_INLINE Bytes SubtractSaturated(const Bytes& a, const Bytes& b) noexcept {
  return {vqsubq_u8(a.v, b.v)};
}
SLUICE_INLINE Bytes Distance(const Bytes& a, const Bytes& b) noexcept {
  return {vabdq_u8(a.v, b.v)};
}
SLUICE_INLINE Bytes Max(const Bytes& a, const Bytes& b) noexcept {
  return {vmaxq_u8(a.v, b.v)};
}
SLUICE_INLINE Bytes Min(const Bytes& a, const Bytes& b) noexcept {
  return {vminq_u8(a.v, b.v)};
}
// Comparisons give 255 where they hold, otherwise 0; Choose() and Except() take such masks.
SLUICE_INLINE Bytes Equal(const Bytes& a, const Bytes& b) noexcept {
  return {vceqq_u8(a.v, b.v)};
}
SLUICE_INLINE Bytes AtLeast(const Bytes& a, const Bytes& b) noexcept {
  return {vcgeq_u8(a.v, b.v)};
}
SLUICE_INLINE Bytes Choose(const Bytes& mask, const Bytes& a, const Bytes& b) noexcept {
  return {vbslq_u8(mask.v, a.v, b.v)};
}
// Zero where the mask holds.
SLUICE_INLINE Bytes Except(const Bytes& mask, const Bytes& a) noexcept {
  return {vbicq_u8(a.v, mask.v)};
}

// Half as many numbers of 16 bits.
using Words = Vector16;
template <int kHalf>
SLUICE_INLINE Words Widened(const Bytes& bytes) noexcept {
  return {
      vreinterpretq_s16_u16(kHalf == 0 ? vmovl_u8(vget_low_u8(bytes.v)) : vmovl_high_u8(bytes.v))};
}
// Both halves' numbers, clamped to 0 .. 255.
SLUICE_INLINE Bytes Narrowed(const Words& first, const Words& second) noexcept {
  return {vqmovun_high_s16(vqmovun_s16(first.v), second.v)};
}
// Both halves' numbers in 1/32, rounded.
SLUICE_INLINE Bytes NarrowedLevels(const Words& first, const Words& second) noexcept {
  return {vqrshrun_high_n_s16(vqrshrun_n_s16(first.v, 5), second.v, 5)};
}
SLUICE_INLINE Words operator^(const Words& a, const Words& b) noexcept {
  return {veorq_s16(a.v, b.v)};
}
// (a * b + 2^14) >> 15
SLUICE_INLINE Words MultiplyRounded(const Words& a, const Words& b) noexcept {
  return {vqrdmulhq_s16(a.v, b.v)};
}
// `a` times the signs of half of the bytes: -1, 0 or 1.
template <int kHalf>
SLUICE_INLINE Words WithSign(const Words& a, const Bytes& signs) noexcept {
  const int8x16_t all = vreinterpretq_s8_u8(signs.v);
  return {vmulq_s16(a.v, kHalf == 0 ? vmovl_s8(vget_low_s8(all)) : vmovl_high_s8(all))};
}
// Of unsigned numbers.
SLUICE_INLINE Words MinUnsigned(const Words& a, const Words& b) noexcept {
  return {vreinterpretq_s16_u16(vminq_u16(vreinterpretq_u16_s16(a.v), vreinterpretq_u16_s16(b.v)))};
}
SLUICE_INLINE Words SubtractSaturated(const Words& a, const Words& b) noexcept {
  return {
      vreinterpretq_s16_u16(vqsubq_u16(vreinterpretq_u16_s16(a.v), vreinterpretq_u16_s16(b.v)))};
}
// Of signed numbers.
SLUICE_INLINE Words Greater(const Words& a, const Words& b) noexcept {
  return {vreinterpretq_s16_u16(vcgtq_s16(a.v, b.v))};
}
SLUICE_INLINE Words Choose(const Words& mask, const Words& a, const Words& b) noexcept {
  return {vbslq_s16(vreinterpretq_u16_s16(mask.v), a.v, b.v)};
}

// A quarter as many floats.
using Floats = float32x4_t;
SLUICE_INLINE Floats AllFloats(float value) noexcept {
  return vdupq_n_f32(value);
}
template <int kHalf>
SLUICE_INLINE Floats FloatsOf(const Words& words) noexcept {
  return vcvtq_f32_s32(kHalf == 0 ? vmovl_s16(vget_low_s16(words.v)) : vmovl_high_s16(words.v));
}
// Both halves' whole parts, clamped to 16 bits with a sign.
SLUICE_INLINE Words Truncated(Floats first, Floats second) noexcept {
  return {vqmovn_high_s32(vqmovn_s32(vcvtq_s32_f32(first)), vcvtq_s32_f32(second))};
}
SLUICE_INLINE Floats Max(Floats a, Floats b) noexcept {
  return vmaxq_f32(a, b);
}
SLUICE_INLINE Floats Min(Floats a, Floats b) noexcept {
  return vminq_f32(a, b);
}
SLUICE_INLINE Floats Floor(Floats a) noexcept {
  return vrndmq_f32(a);
}

// The floats of a vector's bytes.
struct ByteFloats {
  Bytes bytes;
  static SLUICE_INLINE ByteFloats Load(const std::uint8_t* values) noexcept {
    return {Bytes::Load(values)};
  }
  template <int kQuarter>
  SLUICE_INLINE Floats At() const noexcept {
    return FloatsOf<kQuarter % 2>(Widened<kQuarter / 2>(bytes));
  }
};
// Four quarters that Truncated() made two of, clamped to 0 .. 255.
SLUICE_INLINE Bytes NarrowedInOrder(const Words& first, const Words& second) noexcept {
  return Narrowed(first, second);
}

// A factor in 1/65536.
struct Fraction {
  SplitWeight weight;
  explicit SLUICE_INLINE Fraction(std::uint16_t fraction) noexcept : weight(Split(fraction)) {}
  // The whole parts of the products.
  SLUICE_INLINE Bytes Of(const Bytes& d) const noexcept { return {HighBytes(Times(d.v, weight))}; }
};

// GreyValue(). Its factors are split into their two bytes, so that no sum of three products leaves
// 16 bits.
SLUICE_INLINE Bytes GreysOf(const Bytes& r, const Bytes& g, const Bytes& b) noexcept {
  const auto sums = [&](int of_r, int of_g, int of_b) -> Sums16 {
    const auto all = [](int factor) { return vdupq_n_u8(static_cast<std::uint8_t>(factor)); };
    const uint8x16_t red = all(of_r), green = all(of_g), blue = all(of_b);
    const uint16x8_t low = vmlal_u8(vmull_u8(vget_low_u8(r.v), vget_low_u8(red)), vget_low_u8(g.v),
                                    vget_low_u8(green));
    const uint16x8_t high = vmlal_high_u8(vmull_high_u8(r.v, red), g.v, green);
    return {vmlal_u8(low, vget_low_u8(b.v), vget_low_u8(blue)), vmlal_high_u8(high, b.v, blue)};
  };
  const Sums16 fine = sums(19595 & 255, 38470 & 255, 7471 & 255);
  const Sums16 coarse = sums(19595 >> 8, 38470 >> 8, 7471 >> 8);
  return {vrshrn_high_n_u16(vrshrn_n_u16(vsraq_n_u16(coarse.low, fine.low, 8), 8),
                            vsraq_n_u16(coarse.high, fine.high, 8), 8)};
}
struct GreySum {
  uint32x4_t sums = vdupq_n_u32(0);
  SLUICE_INLINE void Add(const Bytes& r, const Bytes& g, const Bytes& b) noexcept {
    sums = vpadalq_u16(sums, vpaddlq_u8(GreysOf(r, g, b).v));
  }
  SLUICE_INLINE std::uint64_t Total() const noexcept { return vaddlvq_u32(sums); }
};

// Look-ups take 64 of the 256 values at a time, and leave places that are not among these.
struct ByteTable {
  uint8x16x4_t part[4];
  explicit SLUICE_INLINE ByteTable(const std::uint8_t* table) noexcept {
    for (int i = 0; i < 4; ++i)
      part[i] = vld1q_u8_x4(table + 64 * i);
  }
  SLUICE_INLINE Bytes At(const Bytes& places) const noexcept {
    uint8x16_t place = places.v, found = vqtbl4q_u8(part[0], place);
    for (int i = 1; i < 4; ++i) {
      place = vsubq_u8(place, vdupq_n_u8(64));
      found = vqtbx4q_u8(found, part[i], place);
    }
    return {found};
  }
};
