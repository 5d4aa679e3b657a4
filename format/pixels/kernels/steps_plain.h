// Steps that change pixels, in plain C++: loops that the compiler vectorises. This code defines
// what the other sets must give. Included inside a namespace of its own.

inline void BlendWith(std::uint8_t* data, std::size_t count, std::uint8_t base,
                      const BlendFactor& blend) {
  const float a = base, factor = blend.factor;
  for (std::size_t i = 0; i < count; ++i)
    data[i] = BlendValue(a, data[i], factor);
}

inline void BlendLines(const std::uint8_t* __restrict from, std::uint8_t* data, std::size_t count,
                       const BlendFactor& blend) {
  const float factor = blend.factor;
  for (std::size_t i = 0; i < count; ++i)
    data[i] = BlendValue(from[i], data[i], factor);
}

inline void SaturateRun(std::uint8_t* __restrict r, std::uint8_t* __restrict g,
                        std::uint8_t* __restrict b, float factor) {
  for (std::size_t i = 0; i < kSlack; ++i) {
    const std::uint32_t grey = GreyValue(r[i], g[i], b[i]);
    const float a = static_cast<float>(static_cast<int>(grey));
    r[i] = BlendValue(a, r[i], factor);
    g[i] = BlendValue(a, g[i], factor);
    b[i] = BlendValue(a, b[i], factor);
  }
}
inline void Saturate(const Planes& p, std::size_t count, const BlendFactor& blend) {
  for (std::size_t i = 0; i < count; i += kSlack)
    SaturateRun(p.r + i, p.g + i, p.b + i, blend.factor);
}

inline std::uint64_t SumGrey(const Planes& p, std::size_t count) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < count; ++i)
    sum += GreyValue(p.r[i], p.g[i], p.b[i]);
  return sum;
}

inline void GreyRun(std::uint8_t* __restrict r, std::uint8_t* __restrict g,
                    std::uint8_t* __restrict b) {
  for (std::size_t i = 0; i < kSlack; ++i)
    r[i] = g[i] = b[i] = static_cast<std::uint8_t>(GreyValue(r[i], g[i], b[i]));
}
inline void MakeGrey(const Planes& p, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kSlack)
    GreyRun(p.r + i, p.g + i, p.b + i);
}

// Writes `change(r, g, b)` of each pixel, which has been turned by less than a third.
template <class Change>
SLUICE_INLINE void EachTurned(const Planes& planes, std::size_t count, int thirds,
                              const Change& change) {
  const Planes from = planes, to = Exchanged(planes, thirds);
  for (std::size_t begin = 0; begin < count; begin += kSlack) {
    std::uint8_t r[kSlack], g[kSlack], b[kSlack];
    for (std::size_t i = 0; i < kSlack; ++i) {
      const Colour turned = change(from.r[begin + i], from.g[begin + i], from.b[begin + i]);
      r[i] = static_cast<std::uint8_t>(turned.r);
      g[i] = static_cast<std::uint8_t>(turned.g);
      b[i] = static_cast<std::uint8_t>(turned.b);
    }
    std::memcpy(to.r + begin, r, kSlack);
    std::memcpy(to.g + begin, g, kSlack);
    std::memcpy(to.b + begin, b, kSlack);
  }
}
inline void TurnHues(const Planes& planes, std::size_t count, float sixths) {
  const HueTurn turn = HueTurnOf(sixths);
  EachTurned(planes, count, turn.thirds,
             [=](int r, int g, int b) { return TurnedColour(r, g, b, turn.rest); });
}
inline void ChangeHsv(const Planes& planes, std::size_t count, const HsvChange& change) {
  const HueTurn turn = HueTurnOf(change.sixths);
  const float saturation = change.saturation, value = change.value;
  EachTurned(planes, count, turn.thirds,
             [=](int r, int g, int b) { return HsvColour(r, g, b, turn.rest, saturation, value); });
}

inline void LookUp(std::uint8_t* data, std::size_t count, const std::uint8_t* table) {
  for (std::size_t i = 0; i < count; ++i)
    data[i] = table[data[i]];
}

inline void Stretch(std::uint8_t* data, std::size_t count, std::uint8_t low,
                    std::uint16_t fraction) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t above = data[i] > low ? data[i] - low : 0;
    const std::uint32_t value = above + (above * fraction >> 16);
    data[i] = static_cast<std::uint8_t>(value < 255 ? value : 255);
  }
}

inline void SmoothLine(const std::uint8_t* above, const std::uint8_t* line,
                       const std::uint8_t* below, std::size_t step, std::size_t count,
                       std::uint8_t* __restrict out) {
  constexpr std::size_t kRun = 256, kMaxStep = 3;
  std::uint16_t columns[kRun + 2 * kMaxStep];  // sums of three values
  for (std::size_t begin = 0; begin < count; begin += kRun) {
    const std::size_t now = count - begin < kRun ? count - begin : kRun;
    for (std::size_t i = 0; i < now + 2 * step; ++i)
      columns[i] =
          static_cast<std::uint16_t>(above[begin + i] + line[begin + i] + below[begin + i]);
    for (std::size_t i = 0; i < now; ++i) {
      const auto sum = static_cast<std::uint16_t>(
          columns[i] + columns[i + step] + columns[i + 2 * step] + 4 * line[begin + i + step] + 6);
      out[begin + i] = SmoothValue(sum);
    }
  }
}

// Writes kVectors * 16 weighted sums, from number `at` on.
template <std::uint32_t kShift, int kVectors, class Out>
SLUICE_INLINE void BlurBlock(const BlurSum& sum, std::size_t at, Out* out) {
  constexpr std::size_t kSums = kVectors * 16;
  std::int32_t sums[kSums];
  for (std::int32_t& one : sums)
    one = 1 << (kShift - 1);
  const std::int16_t* a = sum.values + at;
  const std::int16_t* b = a + sum.step * (sum.taps - 1);
  for (std::uint32_t t = 0; t < sum.pairs; ++t, a += sum.step, b -= sum.step) {
    const std::int16_t weight = sum.weights[t];
    for (std::size_t i = 0; i < kSums; ++i)
      sums[i] -= static_cast<std::int16_t>(a[i] + b[i]) * weight;
  }
  for (std::size_t i = 0; i < kSums; ++i)
    out[i] = static_cast<Out>(sums[i] >> kShift);
}

inline void FindPlaces(const PlaceLine& line, std::size_t count, std::uint32_t* __restrict offsets,
                       std::uint32_t* __restrict shares) {
  const PlaceLine at = line;  // a copy, which no store can change
  std::uint64_t x = at.x, y = at.y;
  for (std::size_t i = 0; i < count; ++i, x += at.x_step, y += at.y_step) {
    offsets[i] = static_cast<std::uint32_t>(y >> 32) * at.stride +
                 static_cast<std::uint32_t>(x >> 32) * at.pixel;
    shares[i] = static_cast<std::uint32_t>(x) >> 17 | static_cast<std::uint32_t>(y) >> 17 << 16;
  }
}

inline void MixRgb(const std::uint8_t* in, std::size_t stride, const std::uint32_t* offsets,
                   const std::uint32_t* shares, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* const above = in + offsets[i];
    const std::uint8_t* const below = above + stride;
    const int x = static_cast<int>(shares[i] & 32767), y = static_cast<int>(shares[i] >> 16);
    for (std::size_t c = 0; c < 3; ++c)
      *out++ = MixedValue(above, below, c, 3 + c, x, y);
  }
}

inline void MixGrey(const std::uint8_t* in, std::size_t stride, const std::uint32_t* offsets,
                    const std::uint32_t* shares, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* const above = in + offsets[i];
    out[i] = MixedValue(above, above + stride, 0, 1, static_cast<int>(shares[i] & 32767),
                        static_cast<int>(shares[i] >> 16));
  }
}
