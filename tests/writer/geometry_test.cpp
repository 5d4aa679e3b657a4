// Sizes of stored pictures, computed by hand from the rules in writer/fit/fit.h.
#include "tests/catch.h"
#include "writer/fit/fit.h"

namespace sluice::test {

namespace {

struct Dimensions {
  std::uint32_t width, height;
  friend bool operator==(const Dimensions&, const Dimensions&) = default;
};

ConvertOptions MaxSide(std::uint32_t side) {
  ConvertOptions options;
  options.geometry.max_side = side;
  return options;
}
ConvertOptions ShortSide(std::uint32_t side) {
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.geometry.short_side = side;
  return options;
}
ConvertOptions ToSize(std::uint32_t width, std::uint32_t height, Fit fit) {
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.geometry.size = Size{width, height};
  options.geometry.fit = fit;
  return options;
}
Dimensions TargetOf(std::uint32_t width, std::uint32_t height, const ConvertOptions& options) {
  const FittedGeometry geometry = FitGeometry(width, height, options);
  return {geometry.target_width, geometry.target_height};
}

}  // namespace

TEST_CASE("max_side bounds the longer side and rounds the other one, halves up") {
  CHECK(TargetOf(1000, 500, MaxSide(500)) == Dimensions{500, 250});
  CHECK(TargetOf(500, 1000, MaxSide(500)) == Dimensions{250, 500});
  CHECK(TargetOf(1000, 333, MaxSide(500)) == Dimensions{500, 167});  // 166.5
  CHECK(TargetOf(1000, 332, MaxSide(500)) == Dimensions{500, 166});
  CHECK(TargetOf(4000, 1, MaxSide(500)) == Dimensions{500, 1});  // 0.125, but at least 1
}

TEST_CASE("max_side and short_side leave smaller pictures as they are") {
  CHECK(FitGeometry(500, 400, MaxSide(500)).unchanged);
  CHECK(FitGeometry(3, 2, MaxSide(500)).unchanged);
  CHECK(FitGeometry(900, 256, ShortSide(256)).unchanged);
  CHECK_FALSE(FitGeometry(501, 400, MaxSide(500)).unchanged);
}

TEST_CASE("short_side bounds the shorter side") {
  CHECK(TargetOf(1000, 512, ShortSide(256)) == Dimensions{500, 256});
  CHECK(TargetOf(512, 1000, ShortSide(256)) == Dimensions{256, 500});
  CHECK(TargetOf(333, 333, ShortSide(256)) == Dimensions{256, 256});
}

TEST_CASE("without a size option every picture keeps its size") {
  ConvertOptions options;
  options.geometry.max_side.reset();
  CHECK(FitGeometry(60'000, 3, options).unchanged);
}

TEST_CASE("size with crop takes the largest centred rectangle of the target's shape") {
  const FittedGeometry wide = FitGeometry(400, 200, ToSize(100, 100, Fit::kCrop));
  CHECK(wide.left == 100);
  CHECK(wide.top == 0);
  CHECK(wide.width == 200);
  CHECK(wide.height == 200);
  const FittedGeometry tall = FitGeometry(200, 401, ToSize(100, 100, Fit::kCrop));
  CHECK(tall.left == 0);
  CHECK(tall.top == 100.5);
  CHECK(tall.height == 200);
  CHECK(tall.target_width == 100);
  CHECK(tall.out_height == 100);
}

TEST_CASE("size enlarges smaller images") {
  CHECK(TargetOf(10, 10, ToSize(64, 64, Fit::kCrop)) == Dimensions{64, 64});
  CHECK_FALSE(FitGeometry(10, 10, ToSize(64, 64, Fit::kCrop)).unchanged);
  CHECK(FitGeometry(64, 64, ToSize(64, 64, Fit::kCrop)).unchanged);
}

TEST_CASE("size with stretch takes the whole picture") {
  const FittedGeometry geometry = FitGeometry(400, 200, ToSize(100, 100, Fit::kStretch));
  CHECK(geometry.width == 400);
  CHECK(geometry.height == 200);
  CHECK(geometry.out_width == 100);
  CHECK(geometry.out_height == 100);
}

TEST_CASE("size with pad fits the whole picture inside, centred") {
  const FittedGeometry wide = FitGeometry(400, 200, ToSize(100, 100, Fit::kPad));
  CHECK(wide.out_width == 100);
  CHECK(wide.out_height == 50);
  CHECK(wide.x == 0);
  CHECK(wide.y == 25);
  const FittedGeometry tall = FitGeometry(199, 400, ToSize(100, 100, Fit::kPad));
  CHECK(tall.out_width == 50);  // 49.75
  CHECK(tall.x == 25);
  // A margin of 33 pixels: the odd one lies at the bottom.
  const FittedGeometry odd = FitGeometry(300, 200, ToSize(100, 100, Fit::kPad));
  CHECK(odd.out_height == 67);  // 66.7
  CHECK(odd.y == 16);
}

TEST_CASE("a decoder may reduce only while twice the target is left on both axes") {
  const auto reduction = [](std::uint32_t width, std::uint32_t height) {
    return DecodeReduction(FitGeometry(width, height, ToSize(100, 100, Fit::kStretch)));
  };
  CHECK(reduction(399, 800) == 1);
  CHECK(reduction(400, 400) == 2);
  CHECK(reduction(799, 5000) == 2);
  CHECK(reduction(800, 800) == 4);
  CHECK(reduction(1600, 1600) == 8);
  CHECK(reduction(60'000, 60'000) == 8);
}

}  // namespace sluice::test
