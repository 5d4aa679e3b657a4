// Turns coefficients into samples: the work of one thread of a device for one block, in the host's
// arithmetic to the last bit (format/pixels/kernels/idct.inc.h names that arithmetic's source).
// C++17: nvcc compiles this.
#pragma once

#include "format/pixels/kernels/tables.h"
#include "reader/device/jpeg_job.h"

namespace sluice {

namespace on_device {

// Values are of 16 bits and sums of 32, and both wrap around, as in the host's vectors:
// coefficients out of range give some picture, the same one on the device and on the host.
SLUICE_ON_DEVICE inline std::int32_t Wrapped16(std::int32_t value) {
  return static_cast<std::int16_t>(value);
}
SLUICE_ON_DEVICE inline std::int32_t Sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
SLUICE_ON_DEVICE inline std::int32_t Difference(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}
template <int kShift>
SLUICE_ON_DEVICE inline std::int32_t Narrowed(std::int32_t sum) {
  const std::int32_t value = sum >> kShift;
  return value < -32768 ? -32768 : value > 32767 ? 32767 : value;
}

// Transforms eight frequencies, which lie `step` apart, to eight values in the same places.
template <int kShift>
SLUICE_ON_DEVICE inline void TransformEight(std::int32_t* v, std::size_t step) {
  const std::int32_t v0 = v[0], v1 = v[step], v2 = v[2 * step], v3 = v[3 * step];
  const std::int32_t v4 = v[4 * step], v5 = v[5 * step], v6 = v[6 * step], v7 = v[7 * step];
  const std::int32_t t2 = v2 * kernels::k0541 + v6 * (kernels::k0541 - kernels::k1847);
  const std::int32_t t3 = v2 * (kernels::k0541 + kernels::k0765) + v6 * kernels::k0541;
  constexpr std::int32_t kRound = 1 << (kShift - 1);
  const std::int32_t t0 = Sum(Wrapped16(v0 + v4) * (1 << kernels::kConstBits), kRound);
  const std::int32_t t1 = Sum(Wrapped16(v0 - v4) * (1 << kernels::kConstBits), kRound);
  const std::int32_t even[4] = {Sum(t0, t3), Sum(t1, t2), Difference(t1, t2), Difference(t0, t3)};
  const std::int32_t z3 = Wrapped16(v7 + v3), z4 = Wrapped16(v5 + v1);
  const std::int32_t a = z3 * (kernels::k1175 - kernels::k1961) + z4 * kernels::k1175;
  const std::int32_t b = z3 * kernels::k1175 + z4 * (kernels::k1175 - kernels::k0390);
  const std::int32_t odd[4] = {
      Sum(v7 * -kernels::k0899 + v1 * (kernels::k1501 - kernels::k0899), b),
      Sum(v5 * -kernels::k2562 + v3 * (kernels::k3072 - kernels::k2562), a),
      Sum(v5 * (kernels::k2053 - kernels::k2562) + v3 * -kernels::k2562, b),
      Sum(v7 * (kernels::k0298 - kernels::k0899) + v1 * -kernels::k0899, a)};
  SLUICE_UNROLL
  for (std::size_t i = 0; i < 4; ++i) {
    v[i * step] = Narrowed<kShift>(Sum(even[i], odd[i]));
    v[(7 - i) * step] = Narrowed<kShift>(Difference(even[i], odd[i]));
  }
}

// Transforms four frequencies to four samples that have 13 more bits of fraction.
template <class Value>
SLUICE_ON_DEVICE inline void TransformFour(const Value* in, Value* out) {
  const Value even = (in[0] + in[2]) * 8192;
  const Value other_even = (in[0] - in[2]) * 8192;
  const Value odd = in[1] * 10703 + in[3] * 4433;
  const Value other_odd = in[1] * 4433 - in[3] * 10703;
  out[0] = even + odd;
  out[1] = other_even + other_odd;
  out[2] = other_even - other_odd;
  out[3] = even - odd;
}

template <class Value>
SLUICE_ON_DEVICE inline std::uint8_t SampleOf(Value value) {
  return static_cast<std::uint8_t>(value < -128 ? 0 : value > 127 ? 255 : value + 128);
}

}  // namespace on_device

// A line of a block's samples, which is stored at once.
template <int kSide>
struct alignas(kSide) JpegLine {
  std::uint8_t at[kSide];
};

// The inverse transforms, by the size of the block. `in` has the block's 64, 16 or 4 coefficients
// in natural order, and `quant` all 64 factors.
SLUICE_ON_DEVICE inline void ToEight(const std::int16_t* in, const std::int16_t* quant,
                                     std::uint8_t* to, std::uint64_t stride) {
  std::int32_t v[64];
  SLUICE_UNROLL
  for (int y = 0; y < 8; ++y) {
    const EightCoefficients line = reinterpret_cast<const EightCoefficients*>(in)[y];
    SLUICE_UNROLL
    for (int x = 0; x < 8; ++x)
      v[8 * y + x] = on_device::Wrapped16(line.at[x] * quant[8 * y + x]);
  }
  SLUICE_UNROLL
  for (std::size_t x = 0; x < 8; ++x)
    on_device::TransformEight<kernels::kConstBits - 2>(v + x, 8);
  SLUICE_UNROLL
  for (std::size_t y = 0; y < 8; ++y) {
    on_device::TransformEight<kernels::kConstBits + 2 + 3>(v + 8 * y, 1);
    JpegLine<8> line = {};
    SLUICE_UNROLL
    for (std::size_t x = 0; x < 8; ++x)
      line.at[x] = on_device::SampleOf(v[8 * y + x]);
    *reinterpret_cast<JpegLine<8>*>(to + y * stride) = line;
  }
}
SLUICE_ON_DEVICE inline void ToFour(const std::int16_t* in, const std::int16_t* quant,
                                    std::uint8_t* to, std::uint64_t stride) {
  std::int32_t by_frequency[4][4];
  SLUICE_UNROLL
  for (int v = 0; v < 4; ++v) {
    std::int32_t values[4];
    SLUICE_UNROLL
    for (int u = 0; u < 4; ++u)
      values[u] = on_device::Wrapped16(in[4 * v + u] * quant[8 * v + u]);
    on_device::TransformFour(values, by_frequency[v]);
  }
  JpegLine<4> lines[4] = {};
  SLUICE_UNROLL
  for (int x = 0; x < 4; ++x) {
    std::int64_t values[4], out[4];
    SLUICE_UNROLL
    for (int v = 0; v < 4; ++v)
      values[v] = by_frequency[v][x];
    values[0] += std::int64_t{1} << (kernels::kConstBits + 2);  // half of what the shift cuts off
    on_device::TransformFour(values, out);
    SLUICE_UNROLL
    for (int y = 0; y < 4; ++y)
      lines[y].at[x] = on_device::SampleOf(out[y] >> (2 * kernels::kConstBits + 3));
  }
  SLUICE_UNROLL
  for (int y = 0; y < 4; ++y)
    *reinterpret_cast<JpegLine<4>*>(to + static_cast<std::uint64_t>(y) * stride) = lines[y];
}
SLUICE_ON_DEVICE inline void ToTwo(const std::int16_t* in, const std::int16_t* quant,
                                   std::uint8_t* to, std::uint64_t stride) {
  const std::int32_t dc = on_device::Wrapped16(in[0] * quant[0]) + 4;
  const std::int32_t across = on_device::Wrapped16(in[1] * quant[1]);
  const std::int32_t down = on_device::Wrapped16(in[2] * quant[8]);
  const std::int32_t both = on_device::Wrapped16(in[3] * quant[9]);
  to[0] = on_device::SampleOf((dc + across + down + both) >> 3);
  to[1] = on_device::SampleOf((dc - across + down - both) >> 3);
  to[stride] = on_device::SampleOf((dc + across - down - both) >> 3);
  to[stride + 1] = on_device::SampleOf((dc - across - down + both) >> 3);
}

// Transforms block `number` of a component, counted line by line.
SLUICE_ON_DEVICE inline void TransformJpegBlock(const JpegJob& job, const JpegPicture& picture,
                                                const JpegComponent& component,
                                                std::uint32_t number) {
  const std::uint32_t blocks_across = BlocksAcross(picture, component);
  const std::uint32_t log2 = component.size_log2;
  const std::uint64_t stride = std::uint64_t{blocks_across} << log2;
  std::uint8_t* const to = SamplesOf(job, picture, component) +
                           (std::uint64_t{number / blocks_across} << log2) * stride +
                           (std::uint64_t{number % blocks_across} << log2);
  const std::int16_t* const in =
      CoefficientsOf(job, picture, component) + (std::uint64_t{number} << 2 * log2);
  const auto* const quant = reinterpret_cast<const std::int16_t*>(job.words + component.quant);
  switch (log2) {
    case 3: return ToEight(in, quant, to, stride);
    case 2: return ToFour(in, quant, to, stride);
    case 1: return ToTwo(in, quant, to, stride);
    default: *to = on_device::SampleOf((on_device::Wrapped16(in[0] * quant[0]) + 4) >> 3);
  }
}

// Transforms a thread's share of all blocks of a picture: that of thread number `thread` out of
// `threads`.
SLUICE_ON_DEVICE inline void TransformJpegShare(const JpegJob& job, const JpegPicture& picture,
                                                std::uint32_t thread, std::uint32_t threads) {
  if (picture.raw.width > 0) return;
  std::uint32_t first = thread;  // the thread's first block of a component; every `threads`-th
                                 // block of the picture, through all components, is its own
  for (std::uint32_t c = 0; c < picture.components; ++c) {
    const JpegComponent& component = picture.component[c];
    const std::uint32_t blocks = BlocksAcross(picture, component) * BlocksDown(picture, component);
    for (std::uint32_t number = first; number < blocks; number += threads)
      TransformJpegBlock(job, picture, component, number);
    first = (first + threads - blocks % threads) % threads;
  }
}

}  // namespace sluice
