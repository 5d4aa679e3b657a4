// Operations on the pixels of a batch, and the conversion of pixels to numbers, for tests of a
// device's functions and kernels. The expected results come from the host's own steps, which
// tests/pixels and tests/reader compare with other programs.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <vector>

#include "format/random.h"
#include "reader/device/pixel_ops.h"
#include "reader/transform/augment.h"
#include "reader/transform/pixel_steps.h"
#include "tests/catch.h"

namespace sluice::test {

inline PixelOp Op(PixelOpKind kind, float factor = 0, std::uint32_t number = 0) {
  PixelOp op;
  op.kind = kind;
  op.factor = factor;
  op.number = number;
  return op;
}

inline PixelOp Hsv(float turns, float saturation, float value) {
  std::uint32_t bits[2];
  std::memcpy(&bits[0], &saturation, 4);
  std::memcpy(&bits[1], &value, 4);
  PixelOp op = Op(PixelOpKind::kHsv, turns, bits[0]);
  op.left = static_cast<std::uint16_t>(bits[1]);
  op.top = static_cast<std::uint16_t>(bits[1] >> 16);
  return op;
}

inline PixelOp Rectangle(std::uint16_t left, std::uint16_t top, std::uint16_t width,
                         std::uint16_t height) {
  PixelOp op = Op(PixelOpKind::kErase);
  op.left = left, op.top = top, op.width = width, op.height = height;
  op.value[0] = 11, op.value[1] = 22, op.value[2] = 33;
  return op;
}

using Ops = std::vector<PixelOp>;

// Several operations in a row. Some need the picture's mean, which depends on earlier operations.
inline Ops ManyOps() {
  using enum PixelOpKind;
  return {Op(kHue, 0.1F), Op(kContrast, 1.4F), Op(kSaturation, 0.6F), Op(kBrightness, 0.7F),
          Op(kGrey),      Op(kContrast, 0.5F), Rectangle(1, 0, 2, 2), Op(kContrast, 1.9F)};
}

struct Shape {
  std::uint32_t width, height, channels;
};

// The operations of a step, data words included, for a picture of that shape, if the step is
// supported.
inline Ops Drawn(const Transform& step, const Shape& shape) {
  RandomStream draws(5, Purpose::kPixelTransform, 3);
  PixelOps ops;
  DrawStep(step, {nullptr, shape.width, shape.height, shape.channels}, draws, ops);
  return {ops.at, ops.at + ops.count};
}
inline Ops Augmented(AugmentKind kind, double magnitude, bool bilinear, const Shape& shape) {
  PixelOps ops;
  AddAugment(kind, magnitude, bilinear, {200, 30, 90},
             {nullptr, shape.width, shape.height, shape.channels}, ops);
  return {ops.at, ops.at + ops.count};
}
inline Ops Noise(const Shape& shape) {
  return Drawn(RandomErasing(1).scale(0.2, 0.5).with_noise(), shape);
}
inline Ops InARow(std::initializer_list<Ops> rows) {
  Ops all;
  for (const Ops& ops : rows)
    all.insert(all.end(), ops.begin(), ops.end());
  return all;
}

// Sequences with operations that need the whole picture: each follows operations that must be done
// before it, and precedes operations that must wait for it.
inline std::vector<Ops> WholePictureOps(const Shape& shape) {
  using enum PixelOpKind;
  const Ops dark = {Op(kBrightness, 0.4F)}, turned = {Op(kHue, 0.2F)}, more = {Op(kContrast, 1.7F)};
  const Ops stretch = {Op(kStretch)}, equalize = {Op(kEqualize)}, sharpen = {Op(kSharpen, 2.3F)};
  const Ops blur = Drawn(GaussianBlur{3, 0.8, 0.8}, shape);
  const Ops wide_blur = Drawn(GaussianBlur{5, 1.3, 1.3}, shape);
  const Ops turn = Augmented(AugmentKind::kRotate, 25, true, shape);
  const Ops shift = Augmented(AugmentKind::kTranslateX, -2, false, shape);
  return {
      InARow({dark,
              stretch,
              turned,
              more,
              sharpen,
              more,
              wide_blur,
              equalize,
              dark,
              stretch,
              more,
              turn,
              Noise(shape),
              more,
              shift,
              {Op(kInvert)}}),
      InARow({blur, wide_blur, sharpen, blur, sharpen, sharpen, dark}),
      InARow({more, turn, dark, wide_blur, stretch, equalize, sharpen}),
      InARow({shift, turn, blur}),
  };
}

// The needs of operations on a device, which PixelProgram works out for steps.
inline DeviceNeed NeedOfOps(const Ops& ops) {
  DeviceNeed need;
  for (const PixelOp& op : ops) {
    const bool moves = op.kind == PixelOpKind::kSharpen || op.kind == PixelOpKind::kWarpNearest ||
                       op.kind == PixelOpKind::kWarpBilinear;
    const std::size_t spare = op.kind == PixelOpKind::kBlur ? 2 : moves ? 1 : 0;
    need.whole = need.whole || spare > 0 || op.kind == PixelOpKind::kContrast ||
                 op.kind == PixelOpKind::kStretch || op.kind == PixelOpKind::kEqualize;
    need.spare_bytes = std::max(need.spare_bytes, spare);
  }
  return need;
}

// A batch of made-up pixels with the same operations on each sample, except that the last sample
// has one operation less.
template <class Number>
class PixelOpsCase {
 public:
  PixelOpsCase(const Ops& ops, const Shape& shape, bool planar, std::size_t samples = 3)
      : shape_(shape),
        // Room for the end, and for one more operation, which no thread may read.
        each_(ops.empty() ? 0 : ops.size() + 2),
        from_(Aligned(samples * SampleValues())),
        spare_(Aligned(samples * SampleValues() * NeedOfOps(ops).spare_bytes)),
        to_(Aligned(samples * SampleValues() * sizeof(Number))),
        table_(Aligned(TableBytes())),
        records_(samples * each_, Op(PixelOpKind::kInvert)) {
    RandomStream random(3, static_cast<Purpose>(999), SampleValues());
    for (std::size_t i = 0; i < samples * SampleValues(); ++i)
      from_[i] = static_cast<std::byte>(random.Below(256));
    const auto* const pixels = reinterpret_cast<const std::uint8_t*>(from_.get());
    before_.assign(pixels, pixels + samples * SampleValues());
    std::memset(to_.get(), 0xDB, samples * SampleValues() * sizeof(Number));
    // Numbers that differ for each value and channel.
    auto* const table = reinterpret_cast<Number*>(table_.get());
    for (std::size_t i = 0; i < TableBytes() / sizeof(Number); ++i)
      table[i] = static_cast<Number>(sizeof(Number) == 1 ? i + 3 * (i / 256) : 7 * i + 1);
    for (std::size_t s = 0; s < samples && !ops.empty(); ++s) {
      std::size_t count = ops.size();
      if (s + 1 == samples) {
        while (ops[--count].kind == PixelOpKind::kWords)
          continue;
      }
      std::copy_n(ops.begin(), count, records_.begin() + static_cast<std::ptrdiff_t>(s * each_));
      records_[s * each_ + count].kind = PixelOpKind::kEnd;
    }
    job.from = reinterpret_cast<std::uint8_t*>(from_.get());
    job.to = to_.get();
    job.table = table_.get();
    job.samples = samples;
    job.pixels = Pixels();
    job.channels = shape.channels;
    job.number_bytes = sizeof(Number);
    job.planar = planar;
    job.ops = records_.empty() ? nullptr : records_.data();
    job.ops_each = static_cast<std::uint32_t>(each_);
    job.width = shape.width;
    const DeviceNeed need = NeedOfOps(ops);
    job.whole = need.whole;
    job.spare = reinterpret_cast<std::uint8_t*>(spare_.get());
    job.spare_each = SampleValues() * need.spare_bytes;
  }

  const Number* table() const { return static_cast<const Number*>(job.table); }

  // Checks that the job's result equals the host's.
  void Check() const {
    const auto* const out = reinterpret_cast<const Number*>(to_.get());
    for (std::size_t s = 0; s < job.samples; ++s) {
      const std::vector<std::uint8_t> changed = ChangedOnHost(s);
      for (std::size_t p = 0; p < Pixels(); ++p) {
        for (std::size_t c = 0; c < shape_.channels; ++c) {
          const std::size_t place = job.planar ? (s * shape_.channels + c) * Pixels() + p
                                               : (s * Pixels() + p) * shape_.channels + c;
          const Number expected = table()[c * 256 + changed[p * shape_.channels + c]];
          if (out[place] == expected) continue;
          CAPTURE(s, p, c);
          REQUIRE(out[place] == expected);
        }
      }
    }
  }

  Conversion job;

 private:
  // Aligned like a device's memory, and of the exact size, so that the sanitizer sees an overrun.
  using Memory = std::unique_ptr<std::byte[], void (*)(std::byte*)>;
  static Memory Aligned(std::size_t bytes) {
    return {static_cast<std::byte*>(::operator new (bytes, std::align_val_t{256})),
            [](std::byte* p) { ::operator delete (p, std::align_val_t{256}); }};
  }
  std::size_t Pixels() const { return std::size_t{shape_.width} * shape_.height; }
  std::size_t SampleValues() const { return Pixels() * shape_.channels; }
  std::size_t TableBytes() const { return 256 * shape_.channels * sizeof(Number); }

  std::vector<std::uint8_t> ChangedOnHost(std::size_t sample) const {
    const auto first = before_.begin() + static_cast<std::ptrdiff_t>(sample * SampleValues());
    std::vector<std::uint8_t> pixels(first, first + static_cast<std::ptrdiff_t>(SampleValues()));
    StepScratch scratch;
    RunPixelOps(records_.data() + sample * each_, each_,
                {pixels.data(), shape_.width, shape_.height, shape_.channels}, scratch);
    return pixels;
  }

  const Shape shape_;
  const std::size_t each_;
  const Memory from_, spare_, to_, table_;
  Ops records_;
  std::vector<std::uint8_t> before_;  // the pixels before the operations
};

}  // namespace sluice::test
