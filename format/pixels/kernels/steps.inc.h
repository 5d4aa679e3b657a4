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

void Widen(const std::uint8_t* from, std::size_t count, std::int16_t* to) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = from[i];
}

// Sums 64 values at a time, and the last ones in smaller blocks (steps_*.h): with 16 more values
// than wanted at most, which are cut off where they may not be written.
void BlurColumns(const BlurSum& job, std::size_t count, std::int16_t* out) {
  const BlurSum sum = job;  // a copy, which no store to `out` can change
  std::size_t i = 0;
  for (; i + 64 <= count; i += 64)
    BlurBlock<kColumnsShift, 4>(sum, i, out + i);
  for (; i < count; i += 16)
    BlurBlock<kColumnsShift, 1>(sum, i, out + i);
}

void BlurLine(const BlurSum& job, std::size_t count, std::uint8_t* out) {
  const BlurSum sum = job;
  std::size_t i = 0;
  for (; i + 64 <= count; i += 64)
    BlurBlock<kLinesShift, 4>(sum, i, out + i);
  for (; i + 16 <= count; i += 16)
    BlurBlock<kLinesShift, 1>(sum, i, out + i);
  if (i == count) return;
  std::uint8_t last[16];
  BlurBlock<kLinesShift, 1>(sum, i, last);
  std::memcpy(out + i, last, count - i);
}

SLUICE_INLINE std::int32_t Fixed15(double numerator, double denominator, double origin,
                                   double most) {
  const double place = numerator / denominator - origin;
  const double above = place > 0 ? place : 0;  // 0 also for NaN
  const double within = above < most ? above : most;
  const auto whole = static_cast<std::int32_t>(within);
  const auto share = static_cast<std::int32_t>((within - whole) * 32768);
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(whole) << 15 |
                                   static_cast<std::uint32_t>(share));
}

// Places in 1/32768 fit into 31 bits, because a picture has less than 65536 pixels on an axis.
void FindProjected(const ProjectedLine& job, std::uint32_t first, std::size_t count,
                   std::uint32_t* __restrict offsets, std::uint32_t* __restrict shares) {
  const ProjectedLine line = job;  // a copy, which no store can change
  for (std::size_t i = 0; i < count; ++i) {
    const double column = static_cast<std::int32_t>(first + i);
    const double w = line.w + column * line.w_step;
    const auto x = static_cast<std::uint32_t>(
        Fixed15(line.x + column * line.x_step, w, line.origin, line.x_most));
    const auto y = static_cast<std::uint32_t>(
        Fixed15(line.y + column * line.y_step, w, line.origin, line.y_most));
    offsets[i] = (y >> 15) * line.stride + (x >> 15) * line.pixel;
    shares[i] = (x & 32767) | (y & 32767) << 16;
  }
}

// Several blocks at a time, whose words are in vectors.
void MakeNoise(std::uint64_t key, const std::uint32_t* counter, std::size_t blocks,
               std::uint8_t* out) {
  constexpr std::size_t kBlocks = 16;
  const std::uint32_t from[4] = {counter[0], counter[1], counter[2], counter[3]};
  for (std::size_t begin = 0; begin < blocks; begin += kBlocks) {
    std::uint32_t words[4][kBlocks];
    for (std::size_t i = 0; i < kBlocks; ++i) {
      std::uint32_t block[4] = {from[0] + static_cast<std::uint32_t>(begin + i), from[1], from[2],
                                from[3]};
      TakePhilox(key, block);
      for (std::size_t w = 0; w < 4; ++w)
        words[w][i] = block[w];
    }
    std::uint8_t bytes[4 * kBlocks];
    for (std::size_t i = 0; i < kBlocks; ++i)
      for (std::size_t w = 0; w < 4; ++w)
        bytes[4 * i + w] = static_cast<std::uint8_t>(words[w][i] >> 24);
    const std::size_t now = blocks - begin < kBlocks ? blocks - begin : kBlocks;
    std::memcpy(out + 4 * begin, bytes, 4 * now);
  }
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
