// Steps that change pixels: loops over runs of values, simple enough for the compiler to vectorise
// on every set. The others are in steps_*.h. IEEE 754 arithmetic in a fixed order, so that every
// set gives the same bytes.

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
