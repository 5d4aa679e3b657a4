// Geometric steps by hand-computed numbers: the regions that resizes, crops and flips take from a
// picture.
#include "reader/transform/geometry.h"

#include <cmath>

#include <sluice/error.h>

#include "reader/transform/portable_math.h"
#include "tests/catch.h"

using namespace sluice;

namespace {
Region RegionOf(const Pipeline& pipeline, std::uint32_t width, std::uint32_t height,
                std::uint64_t position = 0) {
  return Geometry(pipeline).FrameFor(width, height, DrawSeed(1, 2), position).region;
}
}  // namespace

TEST_CASE("exp and log agree with the C library") {
  for (double x = 1e-3; x < 1e3; x *= 1.037) {
    REQUIRE(PortableLog(x) == Approx(std::log(x)).epsilon(1e-14).margin(1e-15));
  }
  for (double x = -6; x < 6; x += 0.0371) {
    REQUIRE(PortableExp(x) == Approx(std::exp(x)).epsilon(1e-14));
  }
}

TEST_CASE("Without steps, the region is the whole picture") {
  REQUIRE(RegionOf({}, 50, 40) == Region::Whole(50, 40));
}

TEST_CASE("Resize scales the whole picture to the given size") {
  const Region region = RegionOf({Resize(20, 10)}, 50, 40);
  CHECK((region.x.start == 0 && region.x.length == 50 && region.x.out == 20 &&
         region.x.target == 20));
  CHECK((region.y.start == 0 && region.y.length == 40 && region.y.out == 10 &&
         region.y.target == 10));
}

TEST_CASE("The shorter side is resized and the longer one rounded down, as torchvision does") {
  // torchvision: int(size * long / short)
  const Region wide = RegionOf({ResizeShortSide{256}}, 500, 375);
  CHECK((wide.x.target == 341 && wide.y.target == 256));
  const Region tall = RegionOf({ResizeShortSide{256}}, 333, 500);
  CHECK((tall.x.target == 256 && tall.y.target == 384));
  const Region thin = RegionOf({ResizeShortSide{256}}, 1, 60000);
  CHECK((thin.x.target == 256 && thin.y.target == 65535));
}

TEST_CASE("A centre crop takes the middle, and an offset that ends in .5 is rounded to even") {
  // torchvision: int(round((341 - 224) / 2.0)) = round(58.5) = 58, (256 - 224) / 2 = 16
  const Region region = RegionOf({ResizeShortSide{256}, CenterCrop(224)}, 500, 375);
  CHECK(region.x.start == Approx(58 * 500.0 / 341));
  CHECK(region.x.length == Approx(224 * 500.0 / 341));
  CHECK(region.y.start == Approx(16 * 375.0 / 256));
  CHECK((region.x.bound == 0 && region.x.bound_length == 500));
  CHECK(RegionOf({CenterCrop(10)}, 13, 15).x.start == 2);  // round(1.5) = 2
  CHECK(RegionOf({CenterCrop(10)}, 13, 15).y.start == 2);  // round(2.5) = 2
}

TEST_CASE("A centre crop larger than the picture puts a border around it") {
  const Region region = RegionOf({CenterCrop(10)}, 7, 4);
  CHECK((region.x.at == 1 && region.x.out == 7 && region.x.target == 10));
  CHECK((region.y.at == 3 && region.y.out == 4 && region.y.target == 10));
}

TEST_CASE("Random crops with padding reach every offset equally often") {
  int counts[9] = {};
  for (std::uint64_t p = 0; p < 9000; ++p) {
    const Region region = RegionOf({RandomCrop(32, 4)}, 32, 32, p);
    REQUIRE((region.x.target == 32 && region.y.target == 32));
    // An offset o of 0..8 in the padded picture shows the picture from o - 4 on.
    const int offset =
        region.x.at > 0 ? 4 - static_cast<int>(region.x.at) : 4 + static_cast<int>(region.x.start);
    REQUIRE(region.x.out == 32 - static_cast<std::uint32_t>(std::abs(offset - 4)));
    ++counts[offset];
  }
  for (const int count : counts)
    CHECK(count == Approx(1000).margin(150));
}

TEST_CASE("A crop entirely in the padding is empty") {
  bool empty = false;
  for (std::uint64_t p = 0; p < 200; ++p)
    empty |= RegionOf({RandomCrop(4, 20)}, 4, 4, p).x.out == 0;
  REQUIRE(empty);
}

TEST_CASE("Random-resized-crops have the stated distribution and stay inside") {
  // The area is uniform in [0.08, max_scale], and the ratio's logarithm is uniform.
  double area = 0;
  double log_ratio = 0;
  double log_ratio_squared = 0;
  constexpr int kDraws = 20'000;
  for (int p = 0; p < kDraws; ++p) {
    RandomResizedCrop op(224);
    op.max_scale = 0.5;  // so that nearly every first attempt fits
    const Region region = RegionOf({op}, 500, 500, static_cast<std::uint64_t>(p));
    REQUIRE((region.x.start >= 0 && region.x.start + region.x.length <= 500));
    REQUIRE((region.y.start >= 0 && region.y.start + region.y.length <= 500));
    REQUIRE((region.x.bound == region.x.start && region.x.bound_length == region.x.length));
    REQUIRE((region.x.target == 224 && region.y.target == 224));
    area += region.x.length * region.y.length / 250'000;
    const double ratio = std::log(region.x.length / region.y.length);
    log_ratio += ratio;
    log_ratio_squared += ratio * ratio;
  }
  CHECK(area / kDraws == Approx(0.29).margin(0.005));
  CHECK(log_ratio / kDraws == Approx(0).margin(0.005));
  const double width = 2 * std::log(4.0 / 3);
  CHECK(log_ratio_squared / kDraws == Approx(width * width / 12).epsilon(0.03));
}

TEST_CASE("Where no random crop fits, the largest centred one with an allowed ratio is taken") {
  const Region region = RegionOf({RandomResizedCrop(224)}, 1000, 10);
  // round(10 * 4/3) = 13
  CHECK((region.x.length == 13 && region.x.start == 493 && region.y.length == 10));
}

TEST_CASE("A flip mirrors as often as its probability says") {
  int flips = 0;
  for (std::uint64_t p = 0; p < 10'000; ++p) {
    flips += RegionOf({HorizontalFlip{0.3}}, 10, 10, p).flip ? 1 : 0;
  }
  CHECK(flips == Approx(3000).margin(200));
  CHECK_FALSE(RegionOf({HorizontalFlip{0}}, 10, 10).flip);
  CHECK(RegionOf({HorizontalFlip{1}}, 10, 10).flip);
  CHECK_FALSE(RegionOf({HorizontalFlip{1}, HorizontalFlip{1}}, 10, 10).flip);
}

TEST_CASE("A crop after a flip takes its offset from the mirrored picture's left") {
  const Region plain = RegionOf({CenterCrop(4)}, 7, 7);  // offset round(1.5) = 2
  const Region flipped = RegionOf({HorizontalFlip{1}, CenterCrop(4)}, 7, 7);
  CHECK(plain.x.start == 2);
  CHECK(flipped.x.start == 1);
}

TEST_CASE("Adding a flip does not move the crops, and positions draw independently") {
  const Region alone = RegionOf({RandomResizedCrop(64)}, 300, 200, 5);
  Region with_flip = RegionOf({HorizontalFlip{0}, RandomResizedCrop(64)}, 300, 200, 5);
  CHECK(alone == with_flip);
  with_flip = RegionOf({RandomResizedCrop(64), HorizontalFlip{1}}, 300, 200, 5);
  CHECK(alone.x == with_flip.x);
  CHECK(alone != RegionOf({RandomResizedCrop(64)}, 300, 200, 6));
  const Geometry geometry({RandomResizedCrop(64)});
  CHECK(alone != geometry.FrameFor(300, 200, DrawSeed(1, 3), 5).region);
}

TEST_CASE("The extent is known if the steps fix it") {
  CHECK_FALSE(Geometry(Pipeline{}).FixedExtent().has_value());
  CHECK_FALSE(Geometry({ResizeShortSide{9}, HorizontalFlip{}}).FixedExtent().has_value());
  CHECK(Geometry({ResizeShortSide{9}, CenterCrop(8, 6)}).FixedExtent()->height == 6);
  CHECK(Geometry({Resize(20, 10), ResizeShortSide{5}}).FixedExtent()->width == 10);
}

TEST_CASE("Parameters out of range and steps that cannot follow each other are refused") {
  RandomResizedCrop scale;
  scale.min_scale = 0;
  RandomResizedCrop ratio;
  ratio.min_ratio = 2;
  for (const Pipeline& bad :
       {Pipeline{Resize(0)}, Pipeline{CenterCrop(70'000)}, Pipeline{scale}, Pipeline{ratio},
        Pipeline{HorizontalFlip{1.5}}, Pipeline{HorizontalFlip{std::nan("")}},
        Pipeline{RandomCrop(8).with_fill({1, 2, 3}), CenterCrop(9)}}) {
    try {
      const Geometry geometry(bad);
      FAIL("not refused");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kInvalidArgument);
    }
  }
}
