// Pixels, operations on them and the numbers that they become, and what must come out: by the
// host's own steps, which tests/pixels and tests/reader hold against others.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "format/random.h"
#include "reader/device/change.h"
#include "reader/transform/run_pixel_op.h"
#include "tests/catch.h"

namespace sluice::test {

inline PixelOp Op(PixelOpKind kind, float factor = 0, std::uint32_t number = 0) {
  PixelOp op;
  op.kind = kind;
  op.factor = factor;
  op.number = number;
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

// Some in a row, with means that depend on what came before.
inline Ops ManyOps() {
  using enum PixelOpKind;
  return {Op(kHue, 0.1F), Op(kContrast, 1.4F), Op(kSaturation, 0.6F), Op(kBrightness, 0.7F),
          Op(kGrey),      Op(kContrast, 0.5F), Rectangle(1, 0, 2, 2), Op(kContrast, 1.9F)};
}

inline bool HasSums(const Ops& ops) {
  return std::any_of(ops.begin(), ops.end(),
                     [](const PixelOp& op) { return op.kind == PixelOpKind::kContrast; });
}

struct Shape {
  std::uint32_t width, height, channels;
};

// A batch of made-up pixels with the same operations on each sample; the last has one less.
template <class Number>
class ChangeCase {
 public:
  ChangeCase(const Ops& ops, const Shape& shape, bool planar, std::size_t samples = 3)
      : shape_(shape),
        each_(ops.empty() ? 0 : ops.size() + 2),  // room for two more, which is not looked at
        from_(Aligned(samples * SampleValues())),
        to_(Aligned(samples * SampleValues() * sizeof(Number))),
        table_(Aligned(TableBytes())),
        records_(samples * each_, Op(PixelOpKind::kInvert)) {
    RandomStream random(3, static_cast<Purpose>(999), SampleValues());
    for (std::size_t i = 0; i < samples * SampleValues(); ++i)
      from_[i] = static_cast<std::byte>(random.Below(256));
    std::memset(to_.get(), 0xDB, samples * SampleValues() * sizeof(Number));
    // Numbers that tell values and channels apart.
    auto* const table = reinterpret_cast<Number*>(table_.get());
    for (std::size_t i = 0; i < TableBytes() / sizeof(Number); ++i)
      table[i] = static_cast<Number>(sizeof(Number) == 1 ? i + 3 * (i / 256) : 7 * i + 1);
    for (std::size_t s = 0; s < samples && !ops.empty(); ++s) {
      const std::size_t count = s + 1 < samples ? ops.size() : ops.size() - 1;
      std::copy_n(ops.begin(), count, records_.begin() + static_cast<std::ptrdiff_t>(s * each_));
      records_[s * each_ + count].kind = PixelOpKind::kEnd;
    }
    job.from = reinterpret_cast<const std::uint8_t*>(from_.get());
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
    job.sums = HasSums(ops);
  }

  const Number* table() const { return static_cast<const Number*>(job.table); }

  // That the job has made of it what the host does.
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
  // Aligned as a device's memory is; exactly as much as is needed, for the sanitizer to see more.
  using Memory = std::unique_ptr<std::byte[], void (*)(std::byte*)>;
  static Memory Aligned(std::size_t bytes) {
    return {static_cast<std::byte*>(::operator new (bytes, std::align_val_t{256})),
            [](std::byte* p) { ::operator delete (p, std::align_val_t{256}); }};
  }
  std::size_t Pixels() const { return std::size_t{shape_.width} * shape_.height; }
  std::size_t SampleValues() const { return Pixels() * shape_.channels; }
  std::size_t TableBytes() const { return 256 * shape_.channels * sizeof(Number); }

  std::vector<std::uint8_t> ChangedOnHost(std::size_t sample) const {
    std::vector<std::uint8_t> pixels(job.from + sample * SampleValues(),
                                     job.from + (sample + 1) * SampleValues());
    for (std::size_t i = 0; i < each_; ++i) {
      const PixelOp& op = records_[sample * each_ + i];
      if (op.kind == PixelOpKind::kEnd) break;
      RunPixelOp(op, {pixels.data(), shape_.width, shape_.height, shape_.channels});
    }
    return pixels;
  }

  const Shape shape_;
  const std::size_t each_;
  const Memory from_, to_, table_;
  Ops records_;
};

}  // namespace sluice::test
