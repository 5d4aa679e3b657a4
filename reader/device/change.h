// Operations on pixels (reader/transform/pixel_op.h) on a device, fused with what makes numbers of
// them (convert.h): pixels are read where the copy has put them, changed, and written once.
//
// A sample is made by a block of threads, in phases between which all of them wait for one another.
// The last phase writes; before it, each kContrast takes three to find the mean of the picture as
// it is by then: pixels are changed anew for it, and nothing but sums is kept. A sample without a
// kContrast has one phase, and may be shared by several blocks.
//
// What one thread does, written once for a GPU (convert.cu) and for the processor
// (simulated_device.cpp), with the arithmetic of the host's own steps. C++17: nvcc compiles this.
#pragma once

#include "reader/device/convert.h"

namespace sluice {

namespace on_device {
#define SLUICE_INLINE SLUICE_ON_DEVICE inline
#include "format/pixels/kernels/pixel.inc.h"
#undef SLUICE_INLINE
}  // namespace on_device

// What the threads of a block share.
struct ChangeScratch {
  static constexpr std::uint32_t kMostThreads = 512;
  static constexpr std::uint32_t kParts = 16;
  static constexpr std::uint32_t kMostOps = 256;  // for a sample
  std::uint64_t of_thread[kMostThreads];          // sums
  std::uint64_t of_part[kParts];                  // sums of those
  std::uint8_t means[kMostOps];                   // of each kContrast so far
};

// One of the blocks that make a sample, and a thread of it.
struct ChangeThread {
  std::uint64_t sample = 0;
  std::uint32_t block = 0, blocks = 1;
  std::uint32_t thread = 0, threads = 1;
};

SLUICE_ON_DEVICE inline const PixelOp* OpsOf(const Conversion& job, std::uint64_t sample) {
  return job.ops + sample * job.ops_each;
}
SLUICE_ON_DEVICE inline std::uint32_t CountOps(const PixelOp* ops, std::uint32_t most) {
  std::uint32_t count = 0;
  while (count < most && ops[count].kind != PixelOpKind::kEnd)
    ++count;
  return count;
}

// Phases of a sample.
SLUICE_ON_DEVICE inline std::uint32_t CountPhases(const Conversion& job, std::uint64_t sample) {
  const PixelOp* const ops = OpsOf(job, sample);
  const std::uint32_t count = CountOps(ops, job.ops_each);
  std::uint32_t phases = 1;
  for (std::uint32_t i = 0; i < count; ++i)
    phases += ops[i].kind == PixelOpKind::kContrast ? 3 : 0;
  return phases;
}

// What operations do to a pixel of so many channels; those that need colours, of three.
SLUICE_ON_DEVICE inline void BlendPixel(float base, float factor, std::uint32_t channels,
                                        std::uint8_t* values) {
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c)
    if (c < channels) values[c] = on_device::BlendValue(base, values[c], factor);
}
SLUICE_ON_DEVICE inline void SaturatePixel(float factor, std::uint8_t* values) {
  const std::uint32_t grey = on_device::GreyValue(values[0], values[1], values[2]);
  BlendPixel(static_cast<float>(grey), factor, 3, values);
}
SLUICE_ON_DEVICE inline void TurnPixel(float sixths, std::uint8_t* values) {
  const int r = values[0], g = values[1], b = values[2];
  const int high = on_device::Greatest(r, g, b);
  const int range = high - on_device::Least(r, g, b);
  const float hue = on_device::TurnedHue(r, g, b, high, range, sixths);
  const auto top = static_cast<float>(high), under = static_cast<float>(range);
  values[0] = on_device::ChannelAt(hue, on_device::kRedAt, top, under);
  values[1] = on_device::ChannelAt(hue, on_device::kGreenAt, top, under);
  values[2] = on_device::ChannelAt(hue, on_device::kBlueAt, top, under);
}
SLUICE_ON_DEVICE inline void GreyPixel(std::uint8_t* values) {
  const std::uint32_t grey = on_device::GreyValue(values[0], values[1], values[2]);
  values[0] = values[1] = values[2] = static_cast<std::uint8_t>(grey);
}
SLUICE_ON_DEVICE inline void SolarizePixel(std::uint32_t threshold, std::uint32_t channels,
                                           std::uint8_t* values) {
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c) {
    if (c < channels && values[c] >= threshold)
      values[c] = static_cast<std::uint8_t>(255 - values[c]);
  }
}
SLUICE_ON_DEVICE inline void MaskPixel(std::uint32_t mask, std::uint32_t channels,
                                       std::uint8_t* values) {
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c)
    if (c < channels) values[c] = static_cast<std::uint8_t>(values[c] & mask);
}
// `pixel` of its picture.
SLUICE_ON_DEVICE inline void ErasePixel(const PixelOp& op, std::uint32_t pixel, std::uint32_t width,
                                        std::uint32_t channels, std::uint8_t* values) {
  const std::uint32_t y = pixel / width, x = pixel - y * width;
  // Modulo 2^32: what lies before is beyond.
  if (y - std::uint32_t{op.top} >= op.height || x - std::uint32_t{op.left} >= op.width) return;
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c)
    if (c < channels) values[c] = op.value[c];
}

// Takes one operation on pixels `first` .. `first` + kCount - 1 of a picture, which lie three bytes
// apart. `mean` is for kContrast.
template <std::uint32_t kCount>
SLUICE_ON_DEVICE inline void TakeOp(const PixelOp& op, std::uint8_t mean, std::uint32_t first,
                                    std::uint32_t width, std::uint32_t channels,
                                    std::uint8_t* run) {
#define SLUICE_EACH_PIXEL SLUICE_UNROLL for (std::uint32_t p = 0; p < kCount; ++p)
  switch (op.kind) {
    case PixelOpKind::kEnd: return;
    case PixelOpKind::kBrightness:
      SLUICE_EACH_PIXEL BlendPixel(0.0F, op.factor, channels, run + 3 * p);
      return;
    case PixelOpKind::kContrast:
      SLUICE_EACH_PIXEL BlendPixel(mean, op.factor, channels, run + 3 * p);
      return;
    case PixelOpKind::kSaturation:
      if (channels != 3) return;
      SLUICE_EACH_PIXEL SaturatePixel(op.factor, run + 3 * p);
      return;
    case PixelOpKind::kHue:
      if (channels != 3) return;
      SLUICE_EACH_PIXEL TurnPixel(op.factor * 6, run + 3 * p);
      return;
    case PixelOpKind::kGrey:
      if (channels != 3) return;
      SLUICE_EACH_PIXEL GreyPixel(run + 3 * p);
      return;
    case PixelOpKind::kInvert: SLUICE_EACH_PIXEL SolarizePixel(0, channels, run + 3 * p); return;
    case PixelOpKind::kSolarize:
      SLUICE_EACH_PIXEL SolarizePixel(op.number, channels, run + 3 * p);
      return;
    case PixelOpKind::kPosterize:
      SLUICE_EACH_PIXEL MaskPixel(0xFF00U >> op.number, channels, run + 3 * p);
      return;
    case PixelOpKind::kErase:
      SLUICE_EACH_PIXEL ErasePixel(op, first + p, width, channels, run + 3 * p);
      return;
  }
#undef SLUICE_EACH_PIXEL
}

// Pixels of a run: four, of three channels, or one.
template <std::uint32_t kCount>
SLUICE_ON_DEVICE inline FourPixels LoadRun(const Conversion& job, std::uint64_t sample,
                                           std::uint64_t first) {
  if (kCount == 4)
    return reinterpret_cast<const FourPixels*>(job.from)[(sample * job.pixels + first) / 4];
  FourPixels run{};
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c)
    if (c < job.channels) run.at[c] = job.from[(sample * job.pixels + first) * job.channels + c];
  return run;
}

// Takes the first `count` operations.
template <std::uint32_t kCount>
SLUICE_ON_DEVICE inline void ChangeRun(const Conversion& job, const PixelOp* ops,
                                       std::uint32_t count, const std::uint8_t* means,
                                       std::uint64_t first, FourPixels& run) {
  const std::uint32_t channels = kCount == 4 ? 3 : job.channels;
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool contrast = ops[i].kind == PixelOpKind::kContrast;
    TakeOp<kCount>(ops[i], contrast ? *means : std::uint8_t{0}, static_cast<std::uint32_t>(first),
                   job.width, channels, run.at);
    means += contrast ? 1 : 0;
  }
}

template <std::uint32_t kCount>
SLUICE_ON_DEVICE inline std::uint32_t GreySumOf(const FourPixels& run, std::uint32_t channels) {
  std::uint32_t sum = 0;
  SLUICE_UNROLL
  for (std::uint32_t p = 0; p < kCount; ++p) {
    const std::uint8_t* const values = run.at + 3 * p;
    sum += channels == 3 ? on_device::GreyValue(values[0], values[1], values[2]) : values[0];
  }
  return sum;
}

// The lightness of one thread's pixels behind `count` operations.
template <std::uint32_t kCount>
SLUICE_ON_DEVICE inline std::uint64_t SumShare(const Conversion& job, const PixelOp* ops,
                                               std::uint32_t count, const std::uint8_t* means,
                                               const ChangeThread& at) {
  std::uint64_t sum = 0;
  for (std::uint64_t g = at.thread; g < job.pixels / kCount; g += at.threads) {
    FourPixels run = LoadRun<kCount>(job, at.sample, g * kCount);
    ChangeRun<kCount>(job, ops, count, means, g * kCount, run);
    sum += GreySumOf<kCount>(run, job.channels);
  }
  return sum;
}

// The three phases that find the mean before operation `count`, which is number `contrast` of its
// kind. There is one block.
SLUICE_ON_DEVICE inline void MeanPhase(const Conversion& job, const PixelOp* ops,
                                       std::uint32_t count, std::uint32_t contrast,
                                       std::uint32_t part, const ChangeThread& at,
                                       ChangeScratch& scratch) {
  const std::uint32_t parts =
      at.threads < ChangeScratch::kParts ? at.threads : ChangeScratch::kParts;
  if (part == 0) {
    scratch.of_thread[at.thread] = InFours(job) ? SumShare<4>(job, ops, count, scratch.means, at)
                                                : SumShare<1>(job, ops, count, scratch.means, at);
  } else if (part == 1) {
    if (at.thread >= parts) return;
    std::uint64_t sum = 0;
    for (std::uint32_t i = at.thread; i < at.threads; i += parts)
      sum += scratch.of_thread[i];
    scratch.of_part[at.thread] = sum;
  } else if (at.thread == 0) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < parts; ++i)
      sum += scratch.of_part[i];
    scratch.means[contrast] = static_cast<std::uint8_t>((2 * sum + job.pixels) / (2 * job.pixels));
  }
}

template <class Number, bool kPlanar>
SLUICE_ON_DEVICE inline void WriteFours(const Conversion& job, const Number* table,
                                        const PixelOp* ops, std::uint32_t count,
                                        const ChangeThread& at, const std::uint8_t* means) {
  const std::uint64_t step = std::uint64_t{at.threads} * at.blocks;
  for (std::uint64_t g = std::uint64_t{at.block} * at.threads + at.thread; g < job.pixels / 4;
       g += step) {
    FourPixels run = LoadRun<4>(job, at.sample, 4 * g);
    ChangeRun<4>(job, ops, count, means, 4 * g, run);
    StoreFour<Number, kPlanar>(job, table, at.sample, 4 * g, run);
  }
}

template <class Number>
SLUICE_ON_DEVICE inline void WritePhase(const Conversion& job, const Number* table,
                                        const PixelOp* ops, std::uint32_t count,
                                        const ChangeThread& at, const std::uint8_t* means) {
  if (InFours(job) && job.planar)
    return WriteFours<Number, true>(job, table, ops, count, at, means);
  if (InFours(job)) return WriteFours<Number, false>(job, table, ops, count, at, means);
  const std::uint64_t step = std::uint64_t{at.threads} * at.blocks;
  for (std::uint64_t p = std::uint64_t{at.block} * at.threads + at.thread; p < job.pixels;
       p += step) {
    FourPixels run = LoadRun<1>(job, at.sample, p);
    ChangeRun<1>(job, ops, count, means, p, run);
    StorePixel(job, table, at.sample, p, run.at);
  }
}

// What a thread does in a phase, 0 to CountPhases() - 1.
template <class Number>
SLUICE_ON_DEVICE inline void ChangePhase(const Conversion& job, const Number* table,
                                         std::uint32_t phase, const ChangeThread& at,
                                         ChangeScratch& scratch) {
  const PixelOp* const ops = OpsOf(job, at.sample);
  const std::uint32_t count = CountOps(ops, job.ops_each);
  std::uint32_t contrast = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (ops[i].kind != PixelOpKind::kContrast) continue;
    if (contrast == phase / 3) return MeanPhase(job, ops, i, contrast, phase % 3, at, scratch);
    ++contrast;
  }
  WritePhase(job, table, ops, count, at, scratch.means);
}

}  // namespace sluice
