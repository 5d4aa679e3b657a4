// Steps that change each value or each pixel's colour, as steps_plain.h defines them, over vectors
// of bytes (bytes_*.h). Included inside a namespace of its own.

// The last values of a line, fewer than a vector has, and zeros after them.
struct LastValues {
  std::uint8_t values[Bytes::kCount] = {};
  SLUICE_INLINE LastValues(const std::uint8_t* from, std::size_t count) noexcept {
    std::memcpy(values, from, count);
  }
};

// Writes `change(from...)` of as many values at a time as a vector holds. The last ones, if fewer,
// are copied to and from places of their own, so that exactly `count` values are read and written.
template <class Vector, class Change, class... From>
SLUICE_INLINE void EachExactly(std::size_t count, std::uint8_t* to, const Change& change,
                               const From*... from) {
  std::size_t i = 0;
#pragma GCC unroll 2
  for (; i + Bytes::kCount <= count; i += Bytes::kCount)
    change(Vector::Load(from + i)...).Store(to + i);
  if (i == count) return;
  std::uint8_t changed[Bytes::kCount];
  change(Vector::Load(LastValues(from + i, count - i).values)...).Store(changed);
  std::memcpy(to + i, changed, count - i);
}

// Blends in whole numbers, if the factor has them.
struct WholeBlend {
  bool more;  // whether the factor is 1 or more
  Fraction fraction;
  explicit SLUICE_INLINE WholeBlend(const BlendFactor& factor) noexcept
      : more(factor.whole != 0), fraction(factor.fraction) {}

  // Differences times the factor, at most 255.
  SLUICE_INLINE Bytes Scaled(const Bytes& d) const noexcept {
    const Bytes part = fraction.Of(d);
    return more ? AddSaturated(part, d) : part;
  }
  SLUICE_INLINE Bytes operator()(const Bytes& a, const Bytes& b) const noexcept {
    const Bytes scaled = Scaled(Distance(a, b));
    // Below a, the fraction that is dropped makes the value smaller by one.
    const Bytes down = SubtractSaturated(SubtractSaturated(a, Bytes::All(1)), scaled);
    return Choose(AtLeast(b, a), AddSaturated(a, scaled), down);
  }
};

// BlendValue(), in floats.
struct FloatBlend {
  Floats factor;
  explicit SLUICE_INLINE FloatBlend(const BlendFactor& blend) noexcept
      : factor(AllFloats(blend.factor)) {}

  SLUICE_INLINE Floats Of(Floats a, Floats b) const noexcept { return a + factor * (b - a); }
  template <class A>
  SLUICE_INLINE Bytes operator()(const A& a, const ByteFloats& b) const noexcept {
    return NarrowedInOrder(
        Truncated(Of(a.template At<0>(), b.At<0>()), Of(a.template At<1>(), b.At<1>())),
        Truncated(Of(a.template At<2>(), b.At<2>()), Of(a.template At<3>(), b.At<3>())));
  }
  // Pixels' blends with their own greys: a quarter of a vector's, and a half.
  template <int kQuarter>
  SLUICE_INLINE void Saturate(const ByteFloats* of, Floats* out) const noexcept {
    const Floats r = of[0].At<kQuarter>(), g = of[1].At<kQuarter>(), b = of[2].At<kQuarter>();
    // All sums are whole numbers below 2^24 in 1/65536: exact.
    const Floats sum = r * AllFloats(19595.0F / 65536) + g * AllFloats(38470.0F / 65536) +
                       b * AllFloats(7471.0F / 65536);
    const Floats grey = Floor(sum + AllFloats(0.5F));
    out[0] = Of(grey, r);
    out[1] = Of(grey, g);
    out[2] = Of(grey, b);
  }
  template <int kHalf>
  SLUICE_INLINE void SaturateHalf(const ByteFloats* of, Words* out) const noexcept {
    Floats first[3], second[3];
    Saturate<2 * kHalf>(of, first);
    Saturate<2 * kHalf + 1>(of, second);
    for (int c = 0; c < 3; ++c)
      out[c] = Truncated(first[c], second[c]);
  }
};
struct SameFloats {
  Floats v;
  template <int kQuarter>
  SLUICE_INLINE Floats At() const noexcept {
    return v;
  }
};

inline void BlendWith(std::uint8_t* data, std::size_t count, std::uint8_t base,
                      const BlendFactor& factor) {
  const WholeBlend whole(factor);
  const FloatBlend floats(factor);
  if (base == 0 && factor.scales) {
    EachExactly<Bytes>(
        count, data, [=](const Bytes& b) { return whole.Scaled(b); }, data);
  } else if (factor.blends) {
    const Bytes a = Bytes::All(base);
    EachExactly<Bytes>(
        count, data, [=](const Bytes& b) { return whole(a, b); }, data);
  } else {
    const SameFloats a{AllFloats(base)};
    EachExactly<ByteFloats>(
        count, data, [=](const ByteFloats& b) { return floats(a, b); }, data);
  }
}

inline void BlendLines(const std::uint8_t* from, std::uint8_t* data, std::size_t count,
                       const BlendFactor& factor) {
  if (factor.blends) return EachExactly<Bytes>(count, data, WholeBlend(factor), from, data);
  EachExactly<ByteFloats>(count, data, FloatBlend(factor), from, data);
}

inline void Saturate(const Planes& planes, std::size_t count, const BlendFactor& factor) {
  const Planes p = planes;  // a copy, which no store to a plane can change
  if (factor.blends) {
    const WholeBlend blend(factor);
    for (std::size_t i = 0; i < count; i += Bytes::kCount) {
      const Bytes r = Bytes::Load(p.r + i), g = Bytes::Load(p.g + i), b = Bytes::Load(p.b + i);
      const Bytes grey = GreysOf(r, g, b);
      blend(grey, r).Store(p.r + i);
      blend(grey, g).Store(p.g + i);
      blend(grey, b).Store(p.b + i);
    }
    return;
  }
  const FloatBlend blend(factor);
  for (std::size_t i = 0; i < count; i += Bytes::kCount) {
    const ByteFloats of[3] = {ByteFloats::Load(p.r + i), ByteFloats::Load(p.g + i),
                              ByteFloats::Load(p.b + i)};
    Words first[3], second[3];
    blend.SaturateHalf<0>(of, first);
    blend.SaturateHalf<1>(of, second);
    NarrowedInOrder(first[0], second[0]).Store(p.r + i);
    NarrowedInOrder(first[1], second[1]).Store(p.g + i);
    NarrowedInOrder(first[2], second[2]).Store(p.b + i);
  }
}

inline std::uint64_t SumGrey(const Planes& planes, std::size_t count) {
  const Planes p = planes;
  GreySum sum;
  std::size_t i = 0;
  for (; i + Bytes::kCount <= count; i += Bytes::kCount)
    sum.Add(Bytes::Load(p.r + i), Bytes::Load(p.g + i), Bytes::Load(p.b + i));
  if (i < count) {
    const LastValues r(p.r + i, count - i), g(p.g + i, count - i), b(p.b + i, count - i);
    sum.Add(Bytes::Load(r.values), Bytes::Load(g.values), Bytes::Load(b.values));
  }
  return sum.Total();
}

inline void MakeGrey(const Planes& planes, std::size_t count) {
  const Planes p = planes;  // a copy, which no store to a plane can change
  for (std::size_t i = 0; i < count; i += Bytes::kCount) {
    const Bytes grey = GreysOf(Bytes::Load(p.r + i), Bytes::Load(p.g + i), Bytes::Load(p.b + i));
    grey.Store(p.r + i);
    grey.Store(p.g + i);
    grey.Store(p.b + i);
  }
}

// The values of a vector's pixels from which TurnedDepths() is made.
struct Hues {
  Bytes high, range;
  Bytes more, less, corner;  // the difference of the other two channels; the corner: -1, 0 or 1
  SLUICE_INLINE Hues(const Bytes& r, const Bytes& g, const Bytes& b) noexcept {
    high = Max(Max(r, g), b);
    range = high - Min(Min(r, g), b);
    const Bytes red = Equal(high, r), green = Equal(high, g);
    more = Choose(red, g, Choose(green, b, r));
    less = Choose(red, b, Choose(green, r, g));
    corner = Except(red, Choose(green, Bytes::All(1), Bytes::All(255)));
  }
  // The three depths of half of the pixels.
  template <int kHalf>
  SLUICE_INLINE void Turn(const Words& rest, Words* depths) const noexcept {
    const Words width = Widened<kHalf>(range);
    const Words unit = width.template Left<5>(), units3 = unit + unit + unit;
    const Words place =
        WithSign<kHalf>(width + width, corner) + (Widened<kHalf>(more) - Widened<kHalf>(less));
    const Words turned = place.template Left<5>() + MultiplyRounded(unit, rest);
    const Words away = Absolute(turned);
    const Words distance = MinUnsigned(away, units3 + units3 - away);
    const Words left = Greater(Words::All(0), turned) ^ Greater(away, units3);
    const Words near = SubtractSaturated(unit, distance);
    const Words far = MinUnsigned(unit, units3 - distance);
    depths[0] = MinUnsigned(SubtractSaturated(distance, unit), unit);
    depths[1] = Choose(left, far, near);
    depths[2] = Choose(left, near, far);
  }
};

inline void TurnHues(const Planes& planes, std::size_t count, float sixths) {
  const Planes p = planes;
  const HueTurn turn = HueTurnOf(sixths);
  const Planes to = Exchanged(p, turn.thirds);  // a third turns red into green
  const Words rest = Words::All(static_cast<std::int16_t>(turn.rest));
  for (std::size_t i = 0; i < count; i += Bytes::kCount) {
    const Hues hues(Bytes::Load(p.r + i), Bytes::Load(p.g + i), Bytes::Load(p.b + i));
    Words low[3], high[3];
    hues.Turn<0>(rest, low);
    hues.Turn<1>(rest, high);
    (hues.high - NarrowedLevels(low[0], high[0])).Store(to.r + i);
    (hues.high - NarrowedLevels(low[1], high[1])).Store(to.g + i);
    (hues.high - NarrowedLevels(low[2], high[2])).Store(to.b + i);
  }
}

// HsvColour().
struct HsvFactors {
  Floats saturation, value;
  // Channels of a quarter of a vector's pixels.
  template <int kQuarter>
  SLUICE_INLINE void Change(const Words& high, const Words& range, const Words* depths,
                            Floats* out) const noexcept {
    const Floats h = FloatsOf<kQuarter>(high), w = FloatsOf<kQuarter>(range);
    const Floats top = Min(value * h, AllFloats(255));
    const Floats wide = top * saturation * w / Max(h, AllFloats(1));
    const Floats scale = Min(wide, top) / Max(w * AllFloats(32), AllFloats(32));
    const Floats rounding = top + AllFloats(0.5F);
    out[0] = rounding - scale * FloatsOf<kQuarter>(depths[0]);
    out[1] = rounding - scale * FloatsOf<kQuarter>(depths[1]);
    out[2] = rounding - scale * FloatsOf<kQuarter>(depths[2]);
  }
  template <int kHalf>
  SLUICE_INLINE void ChangeHalf(const Hues& hues, const Words& rest, Words* out) const noexcept {
    Words depths[3];
    hues.Turn<kHalf>(rest, depths);
    const Words range = Widened<kHalf>(hues.range), high = Widened<kHalf>(hues.high);
    Floats first[3], second[3];
    Change<0>(high, range, depths, first);
    Change<1>(high, range, depths, second);
    for (int c = 0; c < 3; ++c)
      out[c] = Truncated(first[c], second[c]);
  }
};

inline void ChangeHsv(const Planes& planes, std::size_t count, const HsvChange& change) {
  const Planes p = planes;
  const HueTurn turn = HueTurnOf(change.sixths);
  const Planes to = Exchanged(p, turn.thirds);
  const Words rest = Words::All(static_cast<std::int16_t>(turn.rest));
  const HsvFactors factors{AllFloats(change.saturation), AllFloats(change.value)};
  for (std::size_t i = 0; i < count; i += Bytes::kCount) {
    const Hues hues(Bytes::Load(p.r + i), Bytes::Load(p.g + i), Bytes::Load(p.b + i));
    Words low[3], high[3];
    factors.ChangeHalf<0>(hues, rest, low);
    factors.ChangeHalf<1>(hues, rest, high);
    Narrowed(low[0], high[0]).Store(to.r + i);
    Narrowed(low[1], high[1]).Store(to.g + i);
    Narrowed(low[2], high[2]).Store(to.b + i);
  }
}

inline void LookUp(std::uint8_t* data, std::size_t count, const std::uint8_t* table) {
  const ByteTable looked(table);
  EachExactly<Bytes>(
      count, data, [&](const Bytes& places) { return looked.At(places); }, data);
}

inline void Stretch(std::uint8_t* data, std::size_t count, std::uint8_t low,
                    std::uint16_t fraction) {
  BlendFactor factor;
  factor.whole = 1;
  factor.fraction = fraction;
  const WholeBlend whole(factor);
  const Bytes lows = Bytes::All(low);
  EachExactly<Bytes>(
      count, data, [&](const Bytes& v) { return whole.Scaled(SubtractSaturated(v, lows)); }, data);
}

// Calls `mix(offsets, shares, out)` for eight places at a time. It writes up to kMore bytes more
// than their values: each time, these are overwritten, or written to a place of their own.
template <std::size_t kChannels, std::size_t kMore, class Mix>
SLUICE_INLINE void MixByEight(const std::uint32_t* offsets, const std::uint32_t* shares,
                              std::size_t count, std::uint8_t* out, const Mix& mix) {
  std::size_t i = 0;
  for (; i + 8 + (kMore + kChannels - 1) / kChannels <= count; i += 8)
    mix(offsets + i, shares + i, out + kChannels * i);
  for (; i < count; i += 8) {
    const std::size_t now = count - i < 8 ? count - i : 8;
    std::uint32_t some_offsets[8], some_shares[8] = {};
    for (std::uint32_t& offset : some_offsets)
      offset = offsets[i];
    std::memcpy(some_offsets, offsets + i, now * 4);
    std::memcpy(some_shares, shares + i, now * 4);
    std::uint8_t last[8 * kChannels + kMore];
    mix(some_offsets, some_shares, last);
    std::memcpy(out + kChannels * i, last, kChannels * now);
  }
}
