// Operations on a device against the host's own steps, which tests/pixels and tests/reader hold
// against others.
#include "reader/device/change.h"

#include <cstring>

#include "format/random.h"
#include "reader/transform/run_pixel_op.h"
#include "tests/catch.h"

using namespace sluice;

namespace {

PixelOp Op(PixelOpKind kind, float factor = 0, std::uint32_t number = 0) {
  PixelOp op;
  op.kind = kind;
  op.factor = factor;
  op.number = number;
  return op;
}

PixelOp Rectangle(std::uint16_t left, std::uint16_t top, std::uint16_t width,
                  std::uint16_t height) {
  PixelOp op = Op(PixelOpKind::kErase);
  op.left = left, op.top = top, op.width = width, op.height = height;
  op.value[0] = 11, op.value[1] = 22, op.value[2] = 33;
  return op;
}

using Ops = std::vector<PixelOp>;

// One operation each, and some in a row, with means that depend on what came before.
std::vector<Ops> SomeOps() {
  using enum PixelOpKind;
  std::vector<Ops> some = {{},
                           {Op(kGrey)},
                           {Op(kInvert)},
                           {Op(kSolarize, 0, 0)},
                           {Op(kSolarize, 0, 97)},
                           {Op(kSolarize, 0, 256)},
                           {Rectangle(0, 0, 1, 1)},
                           {Rectangle(2, 1, 3, 2)}};
  for (const float factor : {0.F, 0.37F, 1.F, 1.83F, 1e6F}) {
    for (const PixelOpKind kind : {kBrightness, kContrast, kSaturation})
      some.push_back({Op(kind, factor)});
  }
  for (const float turns : {-0.5F, -0.123F, 0.F, 0.31F, 0.5F})
    some.push_back({Op(kHue, turns)});
  for (const std::uint32_t bits : {1U, 3U, 8U})
    some.push_back({Op(kPosterize, 0, bits)});
  some.push_back({Op(kHue, 0.1F), Op(kContrast, 1.4F), Op(kSaturation, 0.6F), Op(kBrightness, 0.7F),
                  Op(kGrey), Op(kContrast, 0.5F), Rectangle(1, 0, 2, 2), Op(kContrast, 1.9F)});
  some.push_back({Rectangle(0, 0, 4, 2), Op(kInvert), Op(kPosterize, 0, 4), Op(kSolarize, 0, 40),
                  Op(kSaturation, 1.7F), Op(kHue, -0.2F)});
  return some;
}

struct Shape {
  std::uint32_t width, height, channels;
};

constexpr std::uint64_t kSamples = 3;

// What comes out of values 0 to 255, in three channels; numbers that tell them apart.
template <class Number>
std::vector<Number> Numbers() {
  std::vector<Number> table(768);
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<Number>(sizeof(Number) == 1 ? i + 3 * (i / 256) : 7 * i + 1);
  return table;
}

template <class Number>
void CheckChange(const Ops& ops, const Shape& shape, bool planar, std::uint32_t threads,
                 std::uint32_t blocks) {
  const std::size_t pixels = std::size_t{shape.width} * shape.height;
  const std::size_t values = kSamples * pixels * shape.channels;
  const auto aligned = [](std::size_t bytes) {
    return std::unique_ptr<std::byte[], void (*)(std::byte*)>(
        static_cast<std::byte*>(::operator new (bytes, std::align_val_t{256})),
        [](std::byte* p) { ::operator delete (p, std::align_val_t{256}); });
  };
  const auto from = aligned(values), to = aligned(values * sizeof(Number));
  RandomStream random(3, static_cast<Purpose>(999), pixels);
  for (std::size_t i = 0; i < values; ++i)
    from[i] = static_cast<std::byte>(random.Below(256));
  const std::vector<Number> table = Numbers<Number>();
  // The last sample has one operation less; and each room for two more, which is not looked at.
  const std::size_t each = ops.size() + 2;
  std::vector<PixelOp> records(kSamples * each, Op(PixelOpKind::kInvert));
  for (std::size_t s = 0; s < kSamples; ++s) {
    const std::size_t count = s + 1 < kSamples || ops.empty() ? ops.size() : ops.size() - 1;
    std::copy_n(ops.begin(), count, records.begin() + static_cast<std::ptrdiff_t>(s * each));
    records[s * each + count].kind = PixelOpKind::kEnd;
  }
  Conversion job;
  job.from = reinterpret_cast<const std::uint8_t*>(from.get());
  job.to = to.get();
  job.samples = kSamples;
  job.pixels = pixels;
  job.channels = shape.channels;
  job.number_bytes = sizeof(Number);
  job.planar = planar;
  job.ops = records.data();
  job.ops_each = static_cast<std::uint32_t>(each);
  job.width = shape.width;
  ChangeThread at;
  at.threads = threads;
  at.blocks = blocks;
  for (at.sample = 0; at.sample < kSamples; ++at.sample) {
    for (at.block = 0; at.block < blocks; ++at.block) {
      ChangeScratch scratch;
      std::memset(&scratch, 0xA5, sizeof scratch);
      for (std::uint32_t phase = 0; phase < CountPhases(job, at.sample); ++phase)
        for (at.thread = 0; at.thread < threads; ++at.thread)
          ChangePhase(job, table.data(), phase, at, scratch);
    }
  }
  const auto* const out = reinterpret_cast<const Number*>(to.get());
  for (std::size_t s = 0; s < kSamples; ++s) {
    std::vector<std::uint8_t> changed(job.from + s * pixels * shape.channels,
                                      job.from + (s + 1) * pixels * shape.channels);
    for (std::size_t i = 0; i < each && records[s * each + i].kind != PixelOpKind::kEnd; ++i) {
      RunPixelOp(records[s * each + i],
                 {changed.data(), shape.width, shape.height, shape.channels});
    }
    for (std::size_t p = 0; p < pixels; ++p) {
      for (std::size_t c = 0; c < shape.channels; ++c) {
        const std::size_t place =
            planar ? (s * shape.channels + c) * pixels + p : (s * pixels + p) * shape.channels + c;
        if (out[place] != table[c * 256 + changed[p * shape.channels + c]]) {
          CAPTURE(s, p, c);
          REQUIRE(out[place] == table[c * 256 + changed[p * shape.channels + c]]);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("A device changes pixels to the host's bytes, whatever its threads and numbers") {
  const Shape shapes[] = {{7, 5, 3}, {8, 6, 3}, {9, 4, 1}, {5, 3, 1}, {33, 20, 3}};
  for (const Ops& ops : SomeOps()) {
    const bool sums = std::any_of(ops.begin(), ops.end(), [](const PixelOp& op) {
      return op.kind == PixelOpKind::kContrast;
    });
    for (const Shape& shape : shapes) {
      for (const std::uint32_t threads : {1U, 3U, 64U}) {
        for (const bool planar : {false, true}) {
          CAPTURE(ops.size(), ops.empty() ? 0 : int(ops[0].kind), shape.width, shape.channels,
                  threads, planar);
          CheckChange<std::uint8_t>(ops, shape, planar, threads, sums ? 1 : 2);
          CheckChange<std::uint16_t>(ops, shape, planar, threads, 1);
          CheckChange<std::uint32_t>(ops, shape, planar, threads, sums ? 1 : 3);
        }
      }
    }
  }
}

TEST_CASE("A device turns every hue as the host does") {
  // All pixels of five values a channel, and some between.
  std::vector<std::uint8_t> pixels;
  for (int r = 0; r < 256; r += 15)
    for (int g = 0; g < 256; g += 17)
      for (int b = 0; b < 256; b += 51)
        for (const int v : {r, g, b})
          pixels.push_back(static_cast<std::uint8_t>(v));
  const auto count = static_cast<std::uint32_t>(pixels.size() / 3);
  for (int turn = -20; turn <= 20; ++turn) {
    const PixelOp op = Op(PixelOpKind::kHue, static_cast<float>(turn) / 40.F);
    std::vector<std::uint8_t> host = pixels, device = pixels;
    RunPixelOp(op, {host.data(), count, 1, 3});
    for (std::uint32_t p = 0; p < count; ++p)
      TakeOp<1>(op, 0, p, count, 3, &device[3 * p]);
    REQUIRE(device == host);
  }
}
