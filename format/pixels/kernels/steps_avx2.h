// Steps that change pixels, in AVX2, as steps_plain.h defines them. Included inside a namespace of
// its own.

SLUICE_INLINE __m256i Load32(const std::uint8_t* values) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
}
SLUICE_INLINE void Store32(std::uint8_t* values, __m256i v) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(values), v);
}

// Calls `change(from, to)` for 32 values at a time. The last ones, if fewer, are copied to and from
// 32 places of their own, so that exactly `count` values are read and written.
template <class Change>
SLUICE_INLINE void EachExactly32(const std::uint8_t* from, std::uint8_t* to, std::size_t count,
                                 const Change& change) {
  std::size_t i = 0;
#pragma GCC unroll 2
  for (; i + 32 <= count; i += 32)
    change(from + i, to + i);
  if (i == count) return;
  std::uint8_t last[32] = {};
  std::memcpy(last, from + i, count - i);
  change(last, last);
  std::memcpy(to + i, last, count - i);
}

SLUICE_INLINE __m256 LoadFloats(const std::uint8_t* values) noexcept {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(values))));
}
// Sixteen whole numbers as 16-bit lanes, saturating: the first four of `a` and of `b`, then the
// last four of each.
SLUICE_INLINE __m256i Truncated(__m256 a, __m256 b) noexcept {
  return _mm256_packs_epi32(_mm256_cvttps_epi32(a), _mm256_cvttps_epi32(b));
}
// Two results of Truncated(), clamped to 0 .. 255, in order.
SLUICE_INLINE __m256i Clamped(__m256i first, __m256i second) noexcept {
  return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(first, second),
                                     _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// BlendValue() for eight values; `a`: floats.
SLUICE_INLINE __m256 Blended(__m256 a, __m256 b, __m256 factor) noexcept {
  return _mm256_add_ps(a, _mm256_mul_ps(factor, _mm256_sub_ps(b, a)));
}

// Blends in whole numbers, if the factor has them.
struct WholeBlend {
  bool more;  // whether the factor is 1 or more
  __m256i fraction;
  explicit SLUICE_INLINE WholeBlend(const BlendFactor& factor) noexcept
      : more(factor.whole != 0), fraction(_mm256_set1_epi16(static_cast<short>(factor.fraction))) {}

  // Differences times the factor, at most 255.
  SLUICE_INLINE __m256i Scaled(__m256i d) const noexcept {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i part =
        _mm256_packus_epi16(_mm256_mulhi_epu16(_mm256_unpacklo_epi8(d, zero), fraction),
                            _mm256_mulhi_epu16(_mm256_unpackhi_epi8(d, zero), fraction));
    return more ? _mm256_adds_epu8(part, d) : part;
  }
  SLUICE_INLINE __m256i Blended(__m256i a, __m256i b) const noexcept {
    const __m256i above = _mm256_subs_epu8(b, a), below = _mm256_subs_epu8(a, b);
    const __m256i scaled = Scaled(_mm256_or_si256(above, below));
    // Below a, the fraction that is dropped makes the value smaller by one.
    const __m256i down = _mm256_subs_epu8(_mm256_subs_epu8(a, _mm256_set1_epi8(1)), scaled);
    return _mm256_blendv_epi8(down, _mm256_adds_epu8(a, scaled),
                              _mm256_cmpeq_epi8(below, _mm256_setzero_si256()));
  }
};

inline void BlendWith(std::uint8_t* data, std::size_t count, std::uint8_t base,
                      const BlendFactor& factor) {
  const WholeBlend whole(factor);
  const __m256i bases = _mm256_set1_epi8(static_cast<char>(base));
  const __m256 a = _mm256_set1_ps(base), f = _mm256_set1_ps(factor.factor);
  const auto each = [=](const auto& of) {
    EachExactly32(data, data, count,
                  [&](const std::uint8_t* from, std::uint8_t* to) { Store32(to, of(from)); });
  };
  if (base == 0 && factor.scales)
    return each([&](const std::uint8_t* b) { return whole.Scaled(Load32(b)); });
  if (factor.blends)
    return each([&](const std::uint8_t* b) { return whole.Blended(bases, Load32(b)); });
  each([&](const std::uint8_t* b) {
    const auto at = [&](int i) { return Blended(a, LoadFloats(b + i), f); };
    return Clamped(Truncated(at(0), at(8)), Truncated(at(16), at(24)));
  });
}

inline void BlendLines(const std::uint8_t* from, std::uint8_t* data, std::size_t count,
                       const BlendFactor& factor) {
  const WholeBlend whole(factor);
  const __m256 f = _mm256_set1_ps(factor.factor);
  const auto each = [=](const auto& of) {
    std::size_t i = 0;
    for (; i + 32 <= count; i += 32)
      Store32(data + i, of(from + i, data + i));
    if (i == count) return;
    std::uint8_t last_from[32] = {}, last[32] = {};
    std::memcpy(last_from, from + i, count - i);
    std::memcpy(last, data + i, count - i);
    Store32(last, of(last_from, last));
    std::memcpy(data + i, last, count - i);
  };
  if (factor.blends) {
    return each([=](const std::uint8_t* a, const std::uint8_t* b) {
      return whole.Blended(Load32(a), Load32(b));
    });
  }
  each([=](const std::uint8_t* a, const std::uint8_t* b) {
    const auto at = [=](int i) { return Blended(LoadFloats(a + i), LoadFloats(b + i), f); };
    return Clamped(Truncated(at(0), at(8)), Truncated(at(16), at(24)));
  });
}

// Means of 64 values. Reads 16 bytes more of each line.
SLUICE_INLINE void Smooth64(const std::uint8_t* above, const std::uint8_t* line,
                            const std::uint8_t* below, std::size_t step, std::uint8_t* out) {
  const auto wide = [](const std::uint8_t* values) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values)));
  };
  std::uint16_t columns[80];  // sums of three values
  for (std::size_t i = 0; i < 80; i += 16) {
    const __m256i sum =
        _mm256_add_epi16(_mm256_add_epi16(wide(above + i), wide(line + i)), wide(below + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(columns + i), sum);
  }
  const auto means = [&](std::size_t i) {
    const auto column = [&](std::size_t at) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns + at));
    };
    const __m256i around =
        _mm256_add_epi16(_mm256_add_epi16(column(i), column(i + step)), column(i + 2 * step));
    const __m256i own =
        _mm256_add_epi16(_mm256_slli_epi16(wide(line + i + step), 2), _mm256_set1_epi16(6));
    return _mm256_mulhi_epu16(_mm256_add_epi16(around, own), _mm256_set1_epi16(5042));
  };
  for (std::size_t i = 0; i < 64; i += 32)
    Store32(out + i, _mm256_permute4x64_epi64(_mm256_packus_epi16(means(i), means(i + 16)), 0xD8));
}

inline void SmoothLine(const std::uint8_t* above, const std::uint8_t* line,
                       const std::uint8_t* below, std::size_t step, std::size_t count,
                       std::uint8_t* out) {
  std::size_t i = 0;
  for (; i + 80 <= count + 2 * step; i += 64)
    Smooth64(above + i, line + i, below + i, step, out + i);
  for (; i < count; i += 64) {
    const std::size_t now = count - i < 64 ? count - i : 64;
    std::uint8_t last[3][80] = {}, means[64];
    std::memcpy(last[0], above + i, now + 2 * step);
    std::memcpy(last[1], line + i, now + 2 * step);
    std::memcpy(last[2], below + i, now + 2 * step);
    Smooth64(last[0], last[1], last[2], step, means);
    std::memcpy(out + i, means, now);
  }
}

// GreyValue() of eight pixels as floats. All sums are whole numbers below 2^24 in 1/65536: exact.
SLUICE_INLINE __m256 GreyFloats(__m256 r, __m256 g, __m256 b) noexcept {
  const __m256 sum =
      _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(r, _mm256_set1_ps(19595.0F / 65536)),
                                  _mm256_mul_ps(g, _mm256_set1_ps(38470.0F / 65536))),
                    _mm256_mul_ps(b, _mm256_set1_ps(7471.0F / 65536)));
  return _mm256_floor_ps(_mm256_add_ps(sum, _mm256_set1_ps(0.5F)));
}

// GreyValue() of 32 pixels; InOrder() gives them in order.
struct Greys32 {
  __m256i at[4];
};
SLUICE_INLINE Greys32 GreysOf(__m256i r, __m256i g, __m256i b) noexcept {
  // The factors are 19595, 38470 and 7471. Half of green's fits into 16 bits, so green is in both
  // pairs.
  const __m256i of_rg = _mm256_set1_epi32(19235 << 16 | 19595);
  const __m256i of_gb = _mm256_set1_epi32(7471 << 16 | 19235);
  const __m256i half = _mm256_set1_epi32(32768);
  const __m256i zero = _mm256_setzero_si256();
  Greys32 greys;
  for (int i = 0; i < 2; ++i) {
    const auto widen = [&](__m256i v) {
      return i == 0 ? _mm256_unpacklo_epi8(v, zero) : _mm256_unpackhi_epi8(v, zero);
    };
    const __m256i red = widen(r), green = widen(g), blue = widen(b);
    const auto grey = [&](__m256i rg, __m256i gb) {
      const __m256i sum =
          _mm256_add_epi32(_mm256_madd_epi16(rg, of_rg), _mm256_madd_epi16(gb, of_gb));
      return _mm256_srli_epi32(_mm256_add_epi32(sum, half), 16);
    };
    greys.at[2 * i] = grey(_mm256_unpacklo_epi16(red, green), _mm256_unpacklo_epi16(green, blue));
    greys.at[2 * i + 1] =
        grey(_mm256_unpackhi_epi16(red, green), _mm256_unpackhi_epi16(green, blue));
  }
  return greys;
}

SLUICE_INLINE __m256i InOrder(const Greys32& greys) noexcept {
  return _mm256_packus_epi16(_mm256_packs_epi32(greys.at[0], greys.at[1]),
                             _mm256_packs_epi32(greys.at[2], greys.at[3]));
}

inline void Saturate(const Planes& planes, std::size_t count, const BlendFactor& factor) {
  const Planes p = planes;  // a copy, which no store to a plane can change
  if (factor.blends) {
    const WholeBlend whole(factor);
    for (std::size_t i = 0; i < count; i += 32) {
      const __m256i r = Load32(p.r + i), g = Load32(p.g + i), b = Load32(p.b + i);
      const __m256i grey = InOrder(GreysOf(r, g, b));
      Store32(p.r + i, whole.Blended(grey, r));
      Store32(p.g + i, whole.Blended(grey, g));
      Store32(p.b + i, whole.Blended(grey, b));
    }
    return;
  }
  const __m256 f = _mm256_set1_ps(factor.factor);
  for (std::size_t i = 0; i < count; i += 32) {
    __m256i r[2], g[2], b[2];
    for (std::size_t half = 0; half < 2; ++half) {
      __m256 of_r[2], of_g[2], of_b[2];
      for (std::size_t part = 0; part < 2; ++part) {
        const std::size_t at = i + 16 * half + 8 * part;
        const __m256 red = LoadFloats(p.r + at), green = LoadFloats(p.g + at),
                     blue = LoadFloats(p.b + at);
        const __m256 grey = GreyFloats(red, green, blue);
        of_r[part] = Blended(grey, red, f);
        of_g[part] = Blended(grey, green, f);
        of_b[part] = Blended(grey, blue, f);
      }
      r[half] = Truncated(of_r[0], of_r[1]);
      g[half] = Truncated(of_g[0], of_g[1]);
      b[half] = Truncated(of_b[0], of_b[1]);
    }
    Store32(p.r + i, Clamped(r[0], r[1]));
    Store32(p.g + i, Clamped(g[0], g[1]));
    Store32(p.b + i, Clamped(b[0], b[1]));
  }
}

inline std::uint64_t SumGrey(const Planes& planes, std::size_t count) {
  const Planes p = planes;
  __m256i sums = _mm256_setzero_si256();
  const auto add = [&sums](const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b) {
    const Greys32 greys = GreysOf(Load32(r), Load32(g), Load32(b));
    for (const __m256i& some : greys.at)
      sums = _mm256_add_epi32(sums, some);
  };
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32)
    add(p.r + i, p.g + i, p.b + i);
  if (i < count) {
    std::uint8_t r[32] = {}, g[32] = {}, b[32] = {};  // black pixels add nothing
    std::memcpy(r, p.r + i, count - i);
    std::memcpy(g, p.g + i, count - i);
    std::memcpy(b, p.b + i, count - i);
    add(r, g, b);
  }
  std::uint32_t parts[8];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(parts), sums);
  std::uint64_t sum = 0;
  for (const std::uint32_t part : parts)
    sum += part;
  return sum;
}

inline void MakeGrey(const Planes& planes, std::size_t count) {
  const Planes p = planes;
  for (std::size_t i = 0; i < count; i += 32) {
    const __m256i all = InOrder(GreysOf(Load32(p.r + i), Load32(p.g + i), Load32(p.b + i)));
    Store32(p.r + i, all);
    Store32(p.g + i, all);
    Store32(p.b + i, all);
  }
}

// The first or second eight of each 16 bytes, in 16-bit lanes whose upper halves are those of
// `with`.
template <int kHalf>
SLUICE_INLINE __m256i Widened(__m256i v, __m256i with) noexcept {
  return kHalf == 0 ? _mm256_unpacklo_epi8(v, with) : _mm256_unpackhi_epi8(v, with);
}

// TurnedDepths() of 16 pixels.
struct Depths16 {
  __m256i r, g, b;
};
struct Hues32 {
  __m256i high, range;
  __m256i more, less, corner;  // the difference of the other two channels; the corner: -1, 0 or 1
  SLUICE_INLINE Hues32(__m256i r, __m256i g, __m256i b) noexcept {
    high = _mm256_max_epu8(_mm256_max_epu8(r, g), b);
    range = _mm256_sub_epi8(high, _mm256_min_epu8(_mm256_min_epu8(r, g), b));
    const __m256i red = _mm256_cmpeq_epi8(high, r), green = _mm256_cmpeq_epi8(high, g);
    more = _mm256_blendv_epi8(_mm256_blendv_epi8(r, b, green), g, red);
    less = _mm256_blendv_epi8(_mm256_blendv_epi8(g, r, green), b, red);
    corner = _mm256_andnot_si256(
        red, _mm256_blendv_epi8(_mm256_set1_epi8(-1), _mm256_set1_epi8(1), green));
  }
  template <int kHalf>
  SLUICE_INLINE Depths16 Turned(__m256i rest) const noexcept {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i width = Widened<kHalf>(range, zero);
    const __m256i unit = _mm256_slli_epi16(width, 5);
    const __m256i units3 = _mm256_add_epi16(_mm256_add_epi16(unit, unit), unit);
    const __m256i base =
        _mm256_sign_epi16(_mm256_add_epi16(width, width), Widened<kHalf>(corner, corner));
    const __m256i place = _mm256_add_epi16(
        base, _mm256_sub_epi16(Widened<kHalf>(more, zero), Widened<kHalf>(less, zero)));
    const __m256i turned =
        _mm256_add_epi16(_mm256_slli_epi16(place, 5), _mm256_mulhrs_epi16(unit, rest));
    const __m256i away = _mm256_abs_epi16(turned);
    const __m256i distance =
        _mm256_min_epu16(away, _mm256_sub_epi16(_mm256_add_epi16(units3, units3), away));
    const __m256i left =
        _mm256_xor_si256(_mm256_cmpgt_epi16(zero, turned), _mm256_cmpgt_epi16(away, units3));
    const __m256i near = _mm256_subs_epu16(unit, distance);
    const __m256i far = _mm256_min_epi16(unit, _mm256_sub_epi16(units3, distance));
    const __m256i own = _mm256_min_epi16(_mm256_subs_epu16(distance, unit), unit);
    return {own, _mm256_blendv_epi8(near, far, left), _mm256_blendv_epi8(far, near, left)};
  }
};

inline void TurnHues(const Planes& planes, std::size_t count, float sixths) {
  const Planes p = planes;
  const HueTurn turn = HueTurnOf(sixths);
  const Planes to = Exchanged(p, turn.thirds);  // a third turns red into green
  const __m256i rest = _mm256_set1_epi16(static_cast<short>(turn.rest));
  const __m256i round = _mm256_set1_epi16(1024);  // a thirty-second, for _mm256_mulhrs_epi16()
  for (std::size_t i = 0; i < count; i += 32) {
    const Hues32 hues(Load32(p.r + i), Load32(p.g + i), Load32(p.b + i));
    const __m256i high = hues.high;
    __m256i under_r[2], under_g[2], under_b[2];
    const auto whole = [&](const Depths16& depths, int half) {
      under_r[half] = _mm256_mulhrs_epi16(depths.r, round);
      under_g[half] = _mm256_mulhrs_epi16(depths.g, round);
      under_b[half] = _mm256_mulhrs_epi16(depths.b, round);
    };
    whole(hues.Turned<0>(rest), 0);
    whole(hues.Turned<1>(rest), 1);
    const auto below = [high](const __m256i* under) {
      return _mm256_sub_epi8(high, _mm256_packus_epi16(under[0], under[1]));
    };
    Store32(to.r + i, below(under_r));
    Store32(to.g + i, below(under_g));
    Store32(to.b + i, below(under_b));
  }
}

// HsvColour() of the first or second four of each eight pixels: channels as 32-bit lanes.
struct HsvFactors {
  __m256 saturation, value;
  template <int kQuarter>
  static SLUICE_INLINE __m256 Floats(__m256i v) noexcept {
    const __m256i zero = _mm256_setzero_si256();
    return _mm256_cvtepi32_ps(kQuarter == 0 ? _mm256_unpacklo_epi16(v, zero)
                                            : _mm256_unpackhi_epi16(v, zero));
  }
  template <int kQuarter>
  SLUICE_INLINE void Change(__m256i high, __m256i range, const Depths16& depths,
                            __m256i* out) const noexcept {
    const __m256 h = Floats<kQuarter>(high), w = Floats<kQuarter>(range);
    const __m256 top = _mm256_min_ps(_mm256_mul_ps(value, h), _mm256_set1_ps(255));
    const __m256 wide = _mm256_div_ps(_mm256_mul_ps(_mm256_mul_ps(top, saturation), w),
                                      _mm256_max_ps(h, _mm256_set1_ps(1)));
    const __m256 units = _mm256_max_ps(_mm256_mul_ps(w, _mm256_set1_ps(32)), _mm256_set1_ps(32));
    const __m256 scale = _mm256_div_ps(_mm256_min_ps(wide, top), units);
    const __m256 rounding = _mm256_add_ps(top, _mm256_set1_ps(0.5F));
    const auto channel = [&](__m256i depth) {
      return _mm256_cvttps_epi32(
          _mm256_sub_ps(rounding, _mm256_mul_ps(scale, Floats<kQuarter>(depth))));
    };
    out[0] = channel(depths.r);
    out[1] = channel(depths.g);
    out[2] = channel(depths.b);
  }
  // The same of 16 pixels, as 16-bit lanes.
  SLUICE_INLINE void Change16(__m256i high, __m256i range, const Depths16& depths,
                              __m256i* out) const noexcept {
    __m256i first[3], second[3];
    Change<0>(high, range, depths, first);
    Change<1>(high, range, depths, second);
    for (int c = 0; c < 3; ++c)
      out[c] = _mm256_packs_epi32(first[c], second[c]);
  }
};

inline void ChangeHsv(const Planes& planes, std::size_t count, const HsvChange& change) {
  const Planes p = planes;
  const HueTurn turn = HueTurnOf(change.sixths);
  const Planes to = Exchanged(p, turn.thirds);
  const __m256i zero = _mm256_setzero_si256();
  const __m256i rest = _mm256_set1_epi16(static_cast<short>(turn.rest));
  const HsvFactors factors{_mm256_set1_ps(change.saturation), _mm256_set1_ps(change.value)};
  for (std::size_t i = 0; i < count; i += 32) {
    const Hues32 hues(Load32(p.r + i), Load32(p.g + i), Load32(p.b + i));
    __m256i low[3], high[3];
    factors.Change16(Widened<0>(hues.high, zero), Widened<0>(hues.range, zero),
                     hues.Turned<0>(rest), low);
    factors.Change16(Widened<1>(hues.high, zero), Widened<1>(hues.range, zero),
                     hues.Turned<1>(rest), high);
    Store32(to.r + i, _mm256_packus_epi16(low[0], high[0]));
    Store32(to.g + i, _mm256_packus_epi16(low[1], high[1]));
    Store32(to.b + i, _mm256_packus_epi16(low[2], high[2]));
  }
}

// Byte shuffles look up 16 of the 256 values at a time. A place that is not among these 16 is
// negative there and gives 0, or is one of the next and gives what the next look-up, of the
// difference, takes back.
inline void LookUp(std::uint8_t* data, std::size_t count, const std::uint8_t* table) {
  __m256i rows[16];
  for (int i = 0; i < 16; ++i)
    rows[i] = _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * i)));
  for (int i = 15; i > 0; --i)
    if (i != 8) rows[i] = _mm256_xor_si256(rows[i], rows[i - 1]);
  const __m256i step = _mm256_set1_epi8(16);
  EachExactly32(data, data, count, [&](const std::uint8_t* from, std::uint8_t* to) {
    __m256i low = Load32(from);
    __m256i high = _mm256_xor_si256(low, _mm256_set1_epi8(static_cast<char>(0x80)));
    __m256i sum =
        _mm256_xor_si256(_mm256_shuffle_epi8(rows[0], low), _mm256_shuffle_epi8(rows[8], high));
    for (int i = 1; i < 8; ++i) {
      low = _mm256_subs_epi8(low, step);
      high = _mm256_subs_epi8(high, step);
      sum = _mm256_xor_si256(sum, _mm256_shuffle_epi8(rows[i], low));
      sum = _mm256_xor_si256(sum, _mm256_shuffle_epi8(rows[8 + i], high));
    }
    Store32(to, sum);
  });
}

inline void Stretch(std::uint8_t* data, std::size_t count, std::uint8_t low,
                    std::uint16_t fraction) {
  BlendFactor factor;
  factor.whole = 1;
  factor.fraction = fraction;
  const WholeBlend whole(factor);
  const __m256i lows = _mm256_set1_epi8(static_cast<char>(low));
  EachExactly32(data, data, count, [=](const std::uint8_t* from, std::uint8_t* to) {
    Store32(to, whole.Scaled(_mm256_subs_epu8(Load32(from), lows)));
  });
}

SLUICE_INLINE __m256i LoadShorts(const std::int16_t* values) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
}
SLUICE_INLINE void StoreSums(const __m256i* sums, int vectors, std::int16_t* out) noexcept {
  for (int v = 0; v < vectors; ++v)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 16 * v), sums[v]);
}
SLUICE_INLINE void StoreSums(const __m256i* sums, int vectors, std::uint8_t* out) noexcept {
  const auto narrow = [](__m256i a, __m256i b) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xD8);
  };
  for (int v = 0; v + 2 <= vectors; v += 2)
    Store32(out + 16 * v, narrow(sums[v], sums[v + 1]));
  if (vectors == 1)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm256_castsi256_si128(narrow(sums[0], sums[0])));
}

template <std::uint32_t kShift, int kVectors, class Out>
SLUICE_INLINE void BlurBlock(const BlurSum& sum, std::size_t at, Out* out) {
  // Not __m256i, whose lanes have 64 bits: GCC would move each sum to another register and back.
  using Sums = int __attribute__((vector_size(32)));
  Sums low[kVectors], high[kVectors];
  for (int v = 0; v < kVectors; ++v)
    low[v] = high[v] = Sums(_mm256_set1_epi32(1 << (kShift - 1)));
  const std::int16_t* a = sum.values + at;
  const std::int16_t* b = a + sum.step * (sum.taps - 1);
  const std::int16_t* weight = sum.weights;
  const std::int16_t* const end = weight + sum.pairs;
  do {
    std::int32_t both;
    std::memcpy(&both, weight, sizeof(both));
    const __m256i weights = _mm256_set1_epi32(both);
    for (int v = 0; v < kVectors; ++v) {
      const __m256i one = _mm256_add_epi16(LoadShorts(a + 16 * v), LoadShorts(b + 16 * v));
      const __m256i next =
          _mm256_add_epi16(LoadShorts(a + sum.step + 16 * v), LoadShorts(b - sum.step + 16 * v));
      low[v] -= Sums(_mm256_madd_epi16(_mm256_unpacklo_epi16(one, next), weights));
      high[v] -= Sums(_mm256_madd_epi16(_mm256_unpackhi_epi16(one, next), weights));
    }
    weight += 2;
    a += 2 * sum.step;
    b -= 2 * sum.step;
  } while (weight != end);
  __m256i packed[kVectors];
  for (int v = 0; v < kVectors; ++v)
    packed[v] = _mm256_packus_epi32(__m256i(low[v] >> kShift), __m256i(high[v] >> kShift));
  StoreSums(packed, kVectors, out);
}

// The places of eight pixels along an axis: of pixels 0, 1, 4 and 5, and of 2, 3, 6 and 7, so that
// the halves of these numbers come out in order.
struct AxisPlaces {
  __m256i first, second, step;
  SLUICE_INLINE AxisPlaces(std::uint64_t start, std::uint64_t by) noexcept {
    const auto at = [=](std::uint64_t i) { return static_cast<long long>(start + i * by); };
    first = _mm256_setr_epi64x(at(0), at(1), at(4), at(5));
    second = _mm256_setr_epi64x(at(2), at(3), at(6), at(7));
    step = _mm256_set1_epi64x(static_cast<long long>(8 * by));
  }
  SLUICE_INLINE __m256i Whole() const noexcept { return Halves<0xDD>(); }
  SLUICE_INLINE __m256i Share() const noexcept { return _mm256_srli_epi32(Halves<0x88>(), 17); }
  SLUICE_INLINE void Advance() noexcept {
    first = _mm256_add_epi64(first, step);
    second = _mm256_add_epi64(second, step);
  }
  template <int kOrder>
  SLUICE_INLINE __m256i Halves() const noexcept {
    return _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), kOrder));
  }
};

inline void FindPlaces(const PlaceLine& line, std::size_t count, std::uint32_t* offsets,
                       std::uint32_t* shares) {
  AxisPlaces x(line.x, line.x_step), y(line.y, line.y_step);
  const __m256i stride = _mm256_set1_epi32(static_cast<int>(line.stride));
  const __m256i pixel = _mm256_set1_epi32(static_cast<int>(line.pixel));
  for (std::size_t i = 0; i < count; i += 8) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(offsets + i),
                        _mm256_add_epi32(_mm256_mullo_epi32(y.Whole(), stride),
                                         _mm256_mullo_epi32(x.Whole(), pixel)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(shares + i),
                        _mm256_or_si256(x.Share(), _mm256_slli_epi32(y.Share(), 16)));
    x.Advance();
    y.Advance();
  }
}

// Eight bytes at each of four places.
SLUICE_INLINE __m256i LoadFour(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c,
                               const std::uint8_t* d) noexcept {
  const auto two = [](const std::uint8_t* one, const std::uint8_t* other) {
    return _mm_castps_si128(
        _mm_loadh_pi(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(one))),
                     reinterpret_cast<const __m64*>(other)));
  };
  return _mm256_inserti128_si256(_mm256_castsi128_si256(two(a, b)), two(c, d), 1);
}

inline void MixRgb(const std::uint8_t* in, std::size_t stride, const std::uint32_t* offsets,
                   const std::uint32_t* shares, std::size_t count, std::uint8_t* out) {
  const auto twice = [](__m128i v) { return _mm256_broadcastsi128_si256(v); };
  // The two pixels of each eight bytes, in 16-bit lanes, and the shares of a pair of places for all
  // lanes of its pixel.
  const __m256i first =
      twice(_mm_setr_epi8(0, -1, 1, -1, 2, -1, -1, -1, 8, -1, 9, -1, 10, -1, -1, -1));
  const __m256i second =
      twice(_mm_setr_epi8(3, -1, 4, -1, 5, -1, -1, -1, 11, -1, 12, -1, 13, -1, -1, -1));
  const __m256i across = twice(_mm_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 4, 5, 4, 5, 4, 5, 4, 5));
  const __m256i down = _mm256_add_epi8(across, _mm256_set1_epi8(2));
  const __m256i next = _mm256_set1_epi8(8);
  const __m256i joined =
      twice(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  // Eight pixels: four in each half of the result.
  const auto mix = [&](const std::uint32_t* at, const std::uint32_t* shares_at) {
    const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(shares_at));
    // Pixels `from`, from + 1, from + 4 and from + 5.
    const auto four = [&](int from, __m256i x_places, __m256i y_places) {
      const __m256i x = _mm256_shuffle_epi8(all, x_places), y = _mm256_shuffle_epi8(all, y_places);
      const auto mean = [](__m256i a, __m256i b, __m256i share) {
        return _mm256_add_epi16(a, _mm256_mulhrs_epi16(_mm256_sub_epi16(b, a), share));
      };
      const auto row = [&](const std::uint8_t* line) {
        const __m256i pixels = LoadFour(line + at[from], line + at[from + 1], line + at[from + 4],
                                        line + at[from + 5]);
        return mean(_mm256_slli_epi16(_mm256_shuffle_epi8(pixels, first), 7),
                    _mm256_slli_epi16(_mm256_shuffle_epi8(pixels, second), 7), x);
      };
      const __m256i mixed = mean(row(in), row(in + stride), y);
      return _mm256_srli_epi16(_mm256_add_epi16(mixed, _mm256_set1_epi16(64)), 7);
    };
    const __m256i pixels = _mm256_packus_epi16(
        four(0, across, down), four(2, _mm256_add_epi8(across, next), _mm256_add_epi8(down, next)));
    return _mm256_shuffle_epi8(pixels, joined);
  };
  const auto store = [](__m256i pixels, std::uint8_t* to) {  // 24 bytes, and four more
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(pixels));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 12), _mm256_extracti128_si256(pixels, 1));
  };
  std::size_t i = 0;
  for (; i + 10 <= count; i += 8, out += 24)  // so that the four bytes are written again
    store(mix(offsets + i, shares + i), out);
  for (; i < count; i += 8, out += 24) {
    const std::size_t now = count - i < 8 ? count - i : 8;
    std::uint32_t some_offsets[8] = {}, some_shares[8] = {};
    for (std::size_t j = 0; j < 8; ++j)
      some_offsets[j] = offsets[i];
    std::memcpy(some_offsets, offsets + i, now * 4);
    std::memcpy(some_shares, shares + i, now * 4);
    std::uint8_t last[28];
    store(mix(some_offsets, some_shares), last);
    std::memcpy(out, last, 3 * now);
  }
}

inline void MixGrey(const std::uint8_t* in, std::size_t stride, const std::uint32_t* offsets,
                    const std::uint32_t* shares, std::size_t count, std::uint8_t* out) {
  // The two values at each of eight places.
  const auto pairs = [](const std::uint8_t* line, const std::uint32_t* at) {
    std::uint16_t both[8];
    for (int i = 0; i < 8; ++i)
      std::memcpy(both + i, line + at[i], 2);
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(both));
  };
  const auto mean = [](__m128i a, __m128i b, __m128i share) {
    return _mm_add_epi16(a, _mm_mulhrs_epi16(_mm_sub_epi16(b, a), share));
  };
  const auto row = [&](__m128i both, __m128i share) {
    const __m128i first = _mm_and_si128(both, _mm_set1_epi16(255));
    return mean(_mm_slli_epi16(first, 7), _mm_slli_epi16(_mm_srli_epi16(both, 8), 7), share);
  };
  const auto mix = [&](const std::uint32_t* at, const std::uint32_t* shares_at, std::uint8_t* to) {
    const auto* const all = reinterpret_cast<const __m128i*>(shares_at);
    const __m128i low = _mm_loadu_si128(all), high = _mm_loadu_si128(all + 1);
    const __m128i half = _mm_set1_epi32(0xFFFF);
    const __m128i x = _mm_packus_epi32(_mm_and_si128(low, half), _mm_and_si128(high, half));
    const __m128i y = _mm_packus_epi32(_mm_srli_epi32(low, 16), _mm_srli_epi32(high, 16));
    const __m128i mixed = mean(row(pairs(in, at), x), row(pairs(in + stride, at), x), y);
    const __m128i whole = _mm_srli_epi16(_mm_add_epi16(mixed, _mm_set1_epi16(64)), 7);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(whole, whole));
  };
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    mix(offsets + i, shares + i, out + i);
  if (i == count) return;
  std::uint32_t some_offsets[8], some_shares[8] = {};
  for (std::uint32_t& offset : some_offsets)
    offset = offsets[i];
  std::memcpy(some_offsets, offsets + i, (count - i) * 4);
  std::memcpy(some_shares, shares + i, (count - i) * 4);
  std::uint8_t last[8];
  mix(some_offsets, some_shares, last);
  std::memcpy(out + i, last, count - i);
}
