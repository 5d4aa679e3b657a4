// Operations on a device, compared with the host's own steps, which tests/pixels and tests/reader
// compare with other programs.
#include "tests/device/pixel_ops_case.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// Single operations, and sequences of several.
std::vector<Ops> SomeOps() {
  using enum PixelOpKind;
  std::vector<Ops> some = {{Op(kGrey)},
                           {Op(kInvert)},
                           {Op(kSolarize, 0, 0)},
                           {Op(kSolarize, 0, 97)},
                           {Op(kSolarize, 0, 256)},
                           {Rectangle(0, 0, 1, 1)},
                           {Rectangle(2, 1, 3, 2)},
                           {Op(kStretch)},
                           {Op(kEqualize)},
                           {Op(kBrightness, 0.3F), Op(kStretch)},
                           {Op(kPosterize, 0, 2), Op(kEqualize)}};
  for (const float factor : {0.F, 0.37F, 1.F, 1.83F, 1e6F}) {
    for (const PixelOpKind kind : {kBrightness, kContrast, kSaturation, kSharpen})
      some.push_back({Op(kind, factor)});
  }
  for (const float turns : {-0.5F, -0.123F, 0.F, 0.31F, 0.5F})
    some.insert(some.end(), {{Op(kHue, turns)}, {Hsv(turns, 1.3F, 0.7F)}, {Hsv(turns, 0.4F, 9)}});
  some.push_back({Op(kExchange, 0, 0b010010), Hsv(0.1F, 2, 1), Op(kExchange, 0, 0b100001)});
  for (const std::uint32_t bits : {1U, 3U, 8U})
    some.push_back({Op(kPosterize, 0, bits)});
  some.push_back(ManyOps());
  some.push_back({Rectangle(0, 0, 4, 2), Op(kInvert), Op(kPosterize, 0, 4), Op(kSolarize, 0, 40),
                  Op(kSaturation, 1.7F), Op(kHue, -0.2F)});
  return some;
}

// Operations that depend on the picture's shape, for pictures of more than 2 pixels on each side.
std::vector<Ops> SomeOpsFor(const Shape& shape) {
  std::vector<Ops> some = {Noise(shape), Drawn(GaussianBlur{3, 0.1, 0.1}, shape),
                           Drawn(GaussianBlur{5, 900, 900}, shape)};
  for (const double sign : {-1.0, 1.0}) {
    for (const bool bilinear : {false, true}) {
      for (const auto& [kind, magnitude] : {std::pair(AugmentKind::kShearX, 0.3),
                                            {AugmentKind::kShearY, 0.9},
                                            {AugmentKind::kTranslateX, 1.5},
                                            {AugmentKind::kTranslateY, 32},
                                            {AugmentKind::kRotate, 123}}) {
        some.push_back(Augmented(kind, sign * magnitude, bilinear, shape));
      }
    }
  }
  for (const Ops& row : WholePictureOps(shape))
    some.push_back(row);
  return some;
}

template <class Number>
void CheckPixelOps(const Ops& ops, const Shape& shape, bool planar, std::uint32_t threads,
                   std::uint32_t blocks) {
  const PixelOpsCase<Number> batch(ops, shape, planar);
  PixelOpThread at;
  at.threads = threads;
  at.blocks = blocks;
  for (at.sample = 0; at.sample < batch.job.samples; ++at.sample) {
    for (at.block = 0; at.block < blocks; ++at.block) {
      PixelOpScratch scratch;
      std::memset(&scratch, 0xA5, sizeof scratch);
      const std::uint32_t count = CountOps(batch.job, at.sample);
      for (Phase phase; AdvancePhase(OpsOf(batch.job, at.sample), count, phase);)
        for (at.thread = 0; at.thread < threads; ++at.thread)
          RunPhase(batch.job, batch.table(), count, phase, at, scratch);
    }
  }
  batch.Check();
}

}  // namespace

TEST_CASE("A device changes pixels to the host's bytes, whatever its threads and numbers") {
  const Shape shapes[] = {{7, 5, 3}, {8, 6, 3}, {9, 4, 1}, {5, 3, 1}, {33, 20, 3}};
  for (const Ops& ops : SomeOps()) {
    const bool whole = NeedOfOps(ops).whole;
    for (const Shape& shape : shapes) {
      for (const std::uint32_t threads : {1U, 3U, 64U}) {
        for (const bool planar : {false, true}) {
          CAPTURE(ops.size(), int(ops[0].kind), shape.width, shape.channels, threads, planar);
          CheckPixelOps<std::uint8_t>(ops, shape, planar, threads, whole ? 1 : 2);
          CheckPixelOps<std::uint16_t>(ops, shape, planar, threads, 1);
          CheckPixelOps<std::uint32_t>(ops, shape, planar, threads, whole ? 1 : 3);
        }
      }
    }
  }
}

TEST_CASE("A device moves and filters pixels as the host does, one operation after another") {
  for (const Shape& shape : {Shape{7, 5, 3}, {8, 6, 3}, {9, 4, 1}, {5, 3, 1}, {33, 20, 3}}) {
    std::size_t row = 0;
    for (const Ops& ops : SomeOpsFor(shape)) {
      ++row;
      for (const std::uint32_t threads : {1U, 64U}) {
        CAPTURE(row, ops.size(), shape.width, shape.channels, threads);
        if (!ops.empty()) CheckPixelOps<std::uint8_t>(ops, shape, row % 2 == 0, threads, 1);
      }
    }
  }
}

TEST_CASE("A device filters pictures of a single pixel, line or column as the host does") {
  for (const Shape& shape : {Shape{1, 1, 3}, {1, 9, 3}, {12, 1, 1}, {2, 2, 3}}) {
    for (const Ops& ops :
         {Ops{Op(PixelOpKind::kSharpen, 3.F)}, Augmented(AugmentKind::kRotate, 70, true, shape),
          Augmented(AugmentKind::kTranslateX, 1, false, shape),
          Ops{Op(PixelOpKind::kStretch), Op(PixelOpKind::kEqualize)}}) {
      CAPTURE(int(ops[0].kind), shape.width, shape.height);
      CheckPixelOps<std::uint8_t>(ops, shape, false, 7, 1);
    }
  }
}

TEST_CASE("A device blurs with the maximum number of weights") {
  const Shape shape = {131, 129, 1};
  const Ops blur = Drawn(GaussianBlur{255, 30, 30}, shape);
  REQUIRE(blur.size() == 1 + 43);  // half of the weights and the middle one, three per record
  CheckPixelOps<std::uint8_t>(blur, shape, false, 64, 1);
}

TEST_CASE("A device rotates hues and changes HSV as the host does") {
  // All combinations of 18 values of red, 16 of green and 6 of blue.
  std::vector<std::uint8_t> pixels;
  for (int r = 0; r < 256; r += 15)
    for (int g = 0; g < 256; g += 17)
      for (int b = 0; b < 256; b += 51)
        for (const int v : {r, g, b})
          pixels.push_back(static_cast<std::uint8_t>(v));
  const auto count = static_cast<std::uint32_t>(pixels.size() / 3);
  for (int turn = -20; turn <= 20; ++turn) {
    const float turns = static_cast<float>(turn) / 40.F;
    for (const PixelOp& op :
         {Op(PixelOpKind::kHue, turns), Hsv(turns, 1.7F, 1.4F), Hsv(turns, 0.5F, 0.8F)}) {
      std::vector<std::uint8_t> host = pixels, device = pixels;
      StepScratch scratch;
      RunPixelOps(&op, 1, {host.data(), count, 1, 3}, scratch);
      for (std::uint32_t p = 0; p < count; ++p)
        ApplyOp<1>(&op, Findings(), p, count, 3, &device[3 * p]);
      REQUIRE(device == host);
    }
  }
}
