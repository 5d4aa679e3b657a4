// Steps that change pixels: loops over runs of values, simple enough for the compiler to vectorise.
// IEEE 754 arithmetic in a fixed order, so that every set gives the same bytes.

constexpr std::size_t kRun = 64;  // pixels split into channels at a time

void BlendWith(std::uint8_t* data, std::size_t count, std::uint8_t base, float factor) {
  const float a = base;
  for (std::size_t i = 0; i < count; ++i)
    data[i] = BlendValue(a, data[i], factor);
}

void BlendLines(const std::uint8_t* from, std::uint8_t* data, std::size_t count, float factor) {
  for (std::size_t i = 0; i < count; ++i)
    data[i] = BlendValue(from[i], data[i], factor);
}

// A run of pixels split into channels.
struct RgbRun {
  std::uint8_t r[kRun + kSlack], g[kRun + kSlack], b[kRun + kSlack];
};

// Calls `change(run)` for each run of the pixels. Beyond the last pixel, a run holds arbitrary
// values.
template <class Change>
SLUICE_INLINE void ChangeRuns(std::uint8_t* rgb, std::size_t count, const Change& change) {
  RgbRun run;
  memset(&run, 0, sizeof(run));
  while (count > 0) {
    const std::size_t now = count < kRun ? count : kRun;
    SplitRgb(rgb, now, run.r, run.g, run.b);
    change(run);
    JoinRgb(run.r, run.g, run.b, now, rgb);
    rgb += now * 3;
    count -= now;
  }
}

void SaturateRgb(std::uint8_t* rgb, std::size_t count, float factor) {
  ChangeRuns(rgb, count, [factor](RgbRun& run) {
    for (std::size_t i = 0; i < kRun; ++i) {
      const std::uint32_t grey = GreyValue(run.r[i], run.g[i], run.b[i]);
      const float a = static_cast<float>(static_cast<int>(grey));
      run.r[i] = BlendValue(a, run.r[i], factor);
      run.g[i] = BlendValue(a, run.g[i], factor);
      run.b[i] = BlendValue(a, run.b[i], factor);
    }
  });
}

std::uint64_t SumGreyRgb(const std::uint8_t* rgb, std::size_t count) {
  RgbRun run;
  memset(&run, 0, sizeof(run));
  std::uint64_t sum = 0;
  while (count > 0) {
    const std::size_t now = count < kRun ? count : kRun;
    SplitRgb(rgb, now, run.r, run.g, run.b);
    std::uint32_t part = 0;
    for (std::size_t i = 0; i < now; ++i)
      part += GreyValue(run.r[i], run.g[i], run.b[i]);
    sum += part;
    rgb += now * 3;
    count -= now;
  }
  return sum;
}

void TurnHueRgb(std::uint8_t* rgb, std::size_t count, float sixths) {
  ChangeRuns(rgb, count, [sixths](RgbRun& run) {
    for (std::size_t i = 0; i < kRun; ++i) {
      const int r = run.r[i], g = run.g[i], b = run.b[i];
      const int high = Greatest(r, g, b), range = high - Least(r, g, b);
      const float hue = TurnedHue(r, g, b, high, range, sixths);
      const auto top = static_cast<float>(high), width = static_cast<float>(range);
      run.r[i] = ChannelAt(hue, kRedAt, top, width);
      run.g[i] = ChannelAt(hue, kGreenAt, top, width);
      run.b[i] = ChannelAt(hue, kBlueAt, top, width);
    }
  });
}

void GreyRgb(std::uint8_t* rgb, std::size_t count) {
  ChangeRuns(rgb, count, [](RgbRun& run) {
    for (std::size_t i = 0; i < kRun; ++i) {
      const auto grey = static_cast<std::uint8_t>(GreyValue(run.r[i], run.g[i], run.b[i]));
      run.r[i] = run.g[i] = run.b[i] = grey;
    }
  });
}

void InvertFrom(std::uint8_t* data, std::size_t count, std::uint8_t least) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t turned = data[i] >= least ? 255 : 0;
    data[i] = data[i] ^ turned;
  }
}

void MaskBits(std::uint8_t* data, std::size_t count, std::uint8_t mask) {
  for (std::size_t i = 0; i < count; ++i)
    data[i] = data[i] & mask;
}

void SmoothLine(const std::uint8_t* above, const std::uint8_t* line, const std::uint8_t* below,
                std::size_t step, std::size_t count, std::uint8_t* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t middle = i + step, last = middle + step;
    const auto around =
        static_cast<std::uint16_t>(above[i] + above[middle] + above[last] + line[i] + line[last] +
                                   below[i] + below[middle] + below[last]);
    out[i] = SmoothValue(static_cast<std::uint16_t>(around + 5 * line[middle] + 6));
  }
}

constexpr std::size_t kSums = 32;  // sums made together, in registers

// sums[i] = kStart + the weighted sum of value i of every line, for i below `count`, which is kSums
// at most. The compiler vectorises a constant count.
template <std::uint32_t kStart>
SLUICE_INLINE void WeightedSums(const std::uint16_t* lines, std::size_t step,
                                const std::uint32_t* weights, std::uint32_t taps, std::size_t count,
                                std::uint32_t* sums) {
  for (std::size_t i = 0; i < count; ++i)
    sums[i] = kStart;
  for (std::uint32_t t = 0; t < taps; ++t) {
    const std::uint16_t* const line = lines + t * step;
    const std::uint32_t weight = weights[t];
    for (std::size_t i = 0; i < count; ++i)
      sums[i] += line[i] * weight;
  }
}

template <class Out, std::uint32_t kShift>
SLUICE_INLINE void BlurRun(const std::uint16_t* line, std::size_t step,
                           const std::uint32_t* weights, std::uint32_t taps, std::size_t count,
                           Out* out) {
  constexpr std::uint32_t kHalf = 1U << (kShift - 1);
  std::uint32_t sums[kSums];
  std::size_t begin = 0;
  for (; begin + kSums <= count; begin += kSums) {
    WeightedSums<kHalf>(line + begin, step, weights, taps, kSums, sums);
    for (std::size_t i = 0; i < kSums; ++i)
      out[begin + i] = static_cast<Out>(sums[i] >> kShift);
  }
  WeightedSums<kHalf>(line + begin, step, weights, taps, count - begin, sums);
  for (std::size_t i = 0; begin + i < count; ++i)
    out[begin + i] = static_cast<Out>(sums[i] >> kShift);
}

void BlurColumns(const std::uint16_t* line, std::size_t step, const std::uint32_t* weights,
                 std::uint32_t taps, std::size_t count, std::uint16_t* out) {
  BlurRun<std::uint16_t, kColumnsShift>(line, step, weights, taps, count, out);
}

void BlurLine(const std::uint16_t* line, std::size_t step, const std::uint32_t* weights,
              std::uint32_t taps, std::size_t count, std::uint8_t* out) {
  BlurRun<std::uint8_t, kLinesShift>(line, step, weights, taps, count, out);
}

// Calls `store(numbers, out)` for the numbers of eight values at a time.
template <class Number, class Store>
SLUICE_INLINE void ToNumbers(const std::uint8_t* values, std::size_t count, const float* scales,
                             const float* offsets, Number* out, const Store& store) {
  static_assert(kFloatRun % 8 == 0);
  const auto make = [&](const std::uint8_t* run, Number* target) {
    for (std::size_t i = 0; i < kFloatRun; i += 8)
      store(Numbers8::Of(run + i, scales + i, offsets + i), target + i);
  };
  for (; count >= kFloatRun; count -= kFloatRun, values += kFloatRun, out += kFloatRun)
    make(values, out);
  if (count == 0) return;
  std::uint8_t rest[kFloatRun] = {};
  std::memcpy(rest, values, count);
  Number last[kFloatRun];
  make(rest, last);
  std::memcpy(out, last, count * sizeof(Number));
}

void ToFloats(const std::uint8_t* values, std::size_t count, const float* scales,
              const float* offsets, float* out) {
  if constexpr (!kRoundsFast) {
    for (; count >= kFloatRun; count -= kFloatRun, values += kFloatRun, out += kFloatRun) {
      for (std::size_t i = 0; i < kFloatRun; ++i)
        out[i] = static_cast<float>(values[i]) * scales[i] + offsets[i];
    }
  }
  ToNumbers(values, count, scales, offsets, out,
            [](const Numbers8& numbers, float* target) { numbers.Store(target); });
}

void ToHalves(const std::uint8_t* values, std::size_t count, const float* scales,
              const float* offsets, std::uint16_t* out) {
  ToNumbers(values, count, scales, offsets, out,
            [](const Numbers8& numbers, std::uint16_t* target) { numbers.StoreHalves(target); });
}

void ToBFloats(const std::uint8_t* values, std::size_t count, const float* scales,
               const float* offsets, std::uint16_t* out) {
  ToNumbers(values, count, scales, offsets, out,
            [](const Numbers8& numbers, std::uint16_t* target) { numbers.StoreBFloats(target); });
}
