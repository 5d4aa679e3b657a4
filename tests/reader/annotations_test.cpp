// Boxes, key points and masks through a region. Expected values are worked out by hand or by
// Pillow.
#include "reader/transform/annotations.h"

#include <cmath>
#include <limits>

#include "format/pixels/nearest.h"
#include "reader/transform/frame.h"
#include "reader/transform/geometry.h"
#include "tests/catch.h"

using namespace sluice;

namespace {

PointMap MapOf(const Pipeline& pipeline, std::uint32_t width, std::uint32_t height) {
  return PointMap(Geometry(pipeline).FrameFor(width, height, DrawSeed(1, 2), 0), width, height);
}

std::optional<Coordinates> MeaningOf(Role role, const char* coordinates) {
  Field field;
  field.role = role;
  field.coordinates = coordinates;
  return Coordinates::Of(field);
}

struct MappedBoxes {
  std::vector<float> boxes;
  std::vector<std::uint8_t> kept;
};

MappedBoxes Boxes(std::vector<float> boxes, const PointMap& map, const BoxRule& rule = {},
                  const char* coordinates = "xyxy-pixels") {
  MappedBoxes mapped{std::move(boxes), {}};
  MapBoxes(std::span<float>(mapped.boxes), MeaningOf(Role::kBoxes, coordinates).value(), map,
           {rule}, mapped.kept);
  return mapped;
}

void CheckNear(const std::vector<float>& values, const std::vector<float>& expected) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    CHECK(values[i] == Approx(expected[i]).margin(1e-4));
  }
}

}  // namespace

TEST_CASE("Boxes are scaled by a resize, each axis by its own factor") {
  // 100 x 50 to 20 x 25: x by 1/5, y by 1/2.
  CheckNear(Boxes({10, 10, 60, 40}, MapOf({Resize(20, 25)}, 100, 50)).boxes, {2, 5, 12, 20});
}

TEST_CASE("Boxes are moved and cut off by a crop, and dropped if nothing is left of them") {
  // The centre 10 x 10 of 20 x 20 begins at (5, 5).
  const PointMap map = MapOf({CenterCrop(10)}, 20, 20);
  const MappedBoxes mapped = Boxes({7, 8, 9, 12, 0, 0, 10, 10, 16, 16, 19, 19}, map);
  CheckNear(mapped.boxes, {2, 3, 4, 7, 0, 0, 5, 5, 0, 0, 0, 0});
  CHECK(mapped.kept == std::vector<std::uint8_t>{1, 1, 0});
}

TEST_CASE("Boxes are mirrored by a flip") {
  CheckNear(Boxes({10, 5, 30, 15}, MapOf({HorizontalFlip{1}}, 100, 50)).boxes, {70, 5, 90, 15});
}

TEST_CASE("If a crop adds a border, boxes are moved by the border and end where the picture ends") {
  // 10 x 10 in the middle of 20 x 20: moved by 5.
  const PointMap map = MapOf({CenterCrop(20)}, 10, 10);
  CheckNear(Boxes({-3, 2, 20, 8}, map).boxes, {5, 7, 15, 13});
  CheckNear(Boxes({1, 2, 4, 8}, MapOf({CenterCrop(20), HorizontalFlip{1}}, 10, 10)).boxes,
            {11, 7, 14, 13});
}

TEST_CASE("Boxes that are too small or too little visible are dropped") {
  const PointMap map = MapOf({Resize(10, 10)}, 100, 100);
  // 9 pixels wide become 0.9.
  CHECK(Boxes({0, 0, 9, 50}, map).kept == std::vector<std::uint8_t>{0});
  CHECK(Boxes({0, 0, 10, 50}, map).kept == std::vector<std::uint8_t>{1});
  CHECK(Boxes({0, 0, 9, 50}, map, {0.5, 0}).kept == std::vector<std::uint8_t>{1});
  // A quarter of the first box is inside the picture, half of the second.
  const MappedBoxes half = Boxes({-50, -50, 50, 50, -50, 0, 50, 100}, map, {1, 0.5});
  CHECK(half.kept == std::vector<std::uint8_t>{0, 1});
}

TEST_CASE("Boxes with NaN, or with corners out of order, are dropped") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const PointMap map = MapOf({HorizontalFlip{1}}, 100, 100);
  const MappedBoxes mapped = Boxes({nan, 0, 50, 50, 0, 0, 50, nan, 50, 0, 0, 50}, map, {0, 0});
  CHECK(mapped.kept == std::vector<std::uint8_t>{0, 0, 0});
}

TEST_CASE("Each box convention is understood and kept") {
  const PointMap map = MapOf({Resize(50, 100)}, 100, 50);  // x by 1/2, y by 2
  // The box 20, 10, 60, 30 in every convention becomes 10, 20, 30, 60.
  CheckNear(Boxes({20, 10, 40, 20}, map, {}, "xywh-pixels").boxes, {10, 20, 20, 40});
  CheckNear(Boxes({40, 20, 40, 20}, map, {}, "cxcywh-pixels").boxes, {20, 40, 20, 40});
  CheckNear(Boxes({0.2F, 0.2F, 0.6F, 0.6F}, map, {}, "xyxy-relative").boxes,
            {0.2F, 0.2F, 0.6F, 0.6F});
  CheckNear(Boxes({0.4F, 0.4F, 0.4F, 0.4F}, map, {}, "cxcywh-relative").boxes,
            {0.4F, 0.4F, 0.4F, 0.4F});
  for (const char* text : {"yxyx-pixels", "xyxy", "pixels", "xywh-metres"}) {
    CAPTURE(text);
    CHECK_FALSE(MeaningOf(Role::kBoxes, text).has_value());
  }
}

TEST_CASE("Key points move, lose their visibility outside, and change sides with a flip") {
  const PointMap crop = MapOf({CenterCrop(10), HorizontalFlip{1}}, 20, 20);  // from (5, 5) on
  PointShape shape{2, 3, {{0, 1}}};
  // One object has two points, left and right; another has a point outside and an unlabelled one.
  std::vector<float> points = {6, 7, 2, 8, 9, 1, 1, 1, 2, 0, 0, 0};
  MapPoints(std::span<float>(points), shape, {}, crop);
  CheckNear(points, {7, 4, 1, 9, 2, 2, 0, 0, 0, 14, -4, 0});
  std::vector<double> pair = {0.5, 0.25};
  MapPoints(std::span<double>(pair), PointShape{1, 2, {}}, *MeaningOf(Role::kKeypoints, "relative"),
            MapOf({CenterCrop(10)}, 20, 20));
  CHECK(pair[0] == Approx(0.5));  // 10 of 20 -> 5 of 10
  CHECK(pair[1] == Approx(0.0).margin(1e-9));
}

TEST_CASE("Key points on an edge of the visible part belong to it, mirrored or not") {
  for (const double mirrored : {0.0, 1.0}) {
    // The corners of 500 x 375, and points just beyond two of its edges.
    std::vector<double> points = {0,   0,   2, 500,    0, 2, 0, 375,   2,
                                  500, 375, 2, 500.01, 9, 2, 9, -0.01, 2};
    MapPoints(std::span<double>(points), PointShape{1, 3, {}}, {},
              MapOf({Resize(224), HorizontalFlip{mirrored}, VerticalFlip{mirrored}}, 500, 375));
    for (std::size_t p = 0; p < 6; ++p)
      CHECK(points[3 * p + 2] == (p < 4 ? 2 : 0));
    CHECK(points[3] == Approx(mirrored > 0 ? 0 : 224).margin(1e-9));
  }
}

TEST_CASE("In a crop that shows nothing of the picture, no point is inside") {
  std::vector<double> points = {3, 4, 2, 7, 0, 2};
  RandomTranslate far(1000);
  bool outside = false;
  for (std::uint64_t p = 0; p < 20; ++p) {
    const Frame frame = Geometry({far}).FrameFor(8, 8, 1, p);
    if (frame.region.x.out > 0 && frame.region.y.out > 0) continue;
    outside = true;
    std::vector<double> moved = points;
    MapPoints(std::span<double>(moved), PointShape{1, 3, {}}, {}, PointMap(frame, 8, 8));
    for (std::size_t i = 0; i < moved.size(); i += 3) {
      CHECK(moved[i + 2] == 0);
      CHECK((moved[i] < 0 || moved[i] > 8 || moved[i + 1] < 0 || moved[i + 1] > 8));
    }
  }
  CHECK(outside);
}

TEST_CASE("Parts cut off by a crop do not come back when the rest is rotated") {
  // The left half of 200 x 100 is cut off. A quarter turn about the middle of the rest then takes
  // (x, y) to (100 - y, x). The last box covers the whole picture and becomes the visible part.
  const AffineMap quarter = AffineAbout(100, 100, {.degrees = 90});
  Frame frame = Geometry({CenterCrop(100)}).FrameFor(200, 100, 0, 0);
  frame.region.x.start = 100;  // the right half
  frame.warped = true;
  frame.warp = quarter;
  frame.size = {100, 100};
  frame.shown = {0, 0, 100, 100};
  const PointMap map(frame, 200, 100);
  const MappedBoxes mapped = Boxes({10, 40, 90, 60, 90, 40, 110, 60, 0, 0, 200, 100}, map);
  CHECK(mapped.kept == std::vector<std::uint8_t>{0, 1, 1});
  CheckNear(mapped.boxes, {0, 0, 0, 0, 40, 0, 60, 10, 0, 0, 100, 100});
  // Half of the second box and of the third is visible.
  CHECK(Boxes({90, 40, 110, 60, 0, 0, 200, 100}, map, {1, 0.51}).kept ==
        std::vector<std::uint8_t>{0, 0});
  CHECK(Boxes({90, 40, 110, 60, 0, 0, 200, 100}, map, {1, 0.49}).kept ==
        std::vector<std::uint8_t>{1, 1});
  // After an eighth of a turn, the corners of the result show `fill`. The point (95, 50), which the
  // crop has cut off, is mapped into such a corner, and a box around it must still be dropped.
  frame.warp = AffineAbout(100, 100, {.degrees = 45});
  const PointMap eighth(frame, 200, 100);
  CHECK(Boxes({90, 45, 98, 55}, eighth).kept == std::vector<std::uint8_t>{0});
  CHECK(eighth.map.X(95, 50) > 0);
  CHECK(eighth.map.Y(95, 50) > 0);
  // A box without width is not kept, whatever the limits.
  CHECK(Boxes({150, 40, 150, 60}, eighth, {0, 0}).kept == std::vector<std::uint8_t>{0});
}

TEST_CASE("Pairs of points are read from their text") {
  const auto pairs = ParseFlipPairs("1-2,3-4", 5);
  REQUIRE(pairs.has_value());
  CHECK(*pairs == std::vector<std::pair<std::size_t, std::size_t>>{{1, 2}, {3, 4}});
  CHECK(ParseFlipPairs("", 5)->empty());
  for (const char* text : {"1", "1-", "1-5", "1-1", "1-2 3-4", "a-b", "1-2,2-0", "0-1,0-1"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseFlipPairs(text, 5).has_value());
  }
}

TEST_CASE("A region for a picture of half the size shows the same part") {
  const Region region = Geometry({CenterCrop(10)}).FrameFor(20, 40, 0, 0).region;
  const Region half = Scaled(region, 20, 40, 10, 20);
  CHECK((half.x.start == 2.5 && half.x.length == 5 && half.x.out == 10 && half.x.bound == 0 &&
         half.x.bound_length == 10));
  CHECK((half.y.start == 7.5 && half.y.length == 5 && half.y.out == 10));
  CHECK(Scaled(region, 20, 40, 20, 40) == region);
}

TEST_CASE("Each pixel of a resized mask is the source pixel under its centre") {
  // Pillow: Image.fromarray([[0, 1, 2, 3, 4]]).resize((3, 1), Image.NEAREST) -> 0 2 4, to 8 wide
  // -> 0 0 1 2 2 3 4 4.
  const std::uint8_t row[5] = {0, 1, 2, 3, 4};
  NearestSampler sampler;
  const MaskView mask{row, 5, 1, 1, 1};
  std::vector<std::uint8_t> out(3);
  Region region = Region::Whole(5, 1);
  region.x.out = region.x.target = 3;
  sampler.Sample(mask, region, PixelOrder::kInterleaved, out.data());
  CHECK(out == std::vector<std::uint8_t>{0, 2, 4});
  region.x.out = region.x.target = 8;
  out.resize(8);
  sampler.Sample(mask, region, PixelOrder::kInterleaved, out.data());
  CHECK(out == std::vector<std::uint8_t>{0, 0, 1, 2, 2, 3, 4, 4});
}

TEST_CASE("Masks of two bytes and channels are cropped, mirrored, padded and put into planes") {
  // Two pixels of two channels of 16 bits.
  const std::uint16_t values[4] = {0x0102, 0x0304, 0x0506, 0x0708};
  const MaskView mask{reinterpret_cast<const std::uint8_t*>(values), 2, 1, 2, 2};
  const Region region = Geometry({CenterCrop(4, 1), HorizontalFlip{1}}).FrameFor(2, 1, 0, 0).region;
  std::uint16_t out[8];
  NearestSampler sampler;
  sampler.Sample(mask, region, PixelOrder::kInterleaved, reinterpret_cast<std::uint8_t*>(out));
  CHECK(std::vector<std::uint16_t>(out, out + 8) ==
        std::vector<std::uint16_t>{0, 0, 0x0506, 0x0708, 0x0102, 0x0304, 0, 0});
  sampler.Sample(mask, region, PixelOrder::kPlanar, reinterpret_cast<std::uint8_t*>(out));
  CHECK(std::vector<std::uint16_t>(out, out + 8) ==
        std::vector<std::uint16_t>{0, 0x0506, 0x0102, 0, 0, 0x0708, 0x0304, 0});
}

TEST_CASE("A box is dropped if its longer side is more than max_aspect times its shorter one") {
  const PointMap map = MapOf({CenterCrop(40)}, 40, 40);
  BoxRule rule;
  rule.max_aspect = 4;
  const std::vector<float> boxes = {0, 0, 8, 2, 0, 0,    8.1F, 2, 0, 0,
                                    2, 8, 0, 0, 2, 8.1F, 0,    0, 0, 8};
  CHECK(Boxes(boxes, map, rule).kept == std::vector<std::uint8_t>{1, 0, 1, 0, 0});
  rule.max_aspect.reset();
  CHECK(Boxes(boxes, map, rule).kept == std::vector<std::uint8_t>{1, 1, 1, 1, 0});
}

TEST_CASE("The largest boxes are kept, and of equal ones the earlier") {
  std::vector<float> boxes = {0, 0, 2, 2, 0, 0, 9, 9, 0, 0, 3, 1, 0, 0, 2, 2, 0, 0, 1, 4};
  std::vector<std::uint8_t> kept = {1, 0, 1, 1, 1};
  CHECK(KeepLargest(std::span(boxes), {}, 4, kept) == 0);
  CHECK(KeepLargest(std::span(boxes), {}, 2, kept) == 2);
  CHECK(kept == std::vector<std::uint8_t>{1, 0, 0, 1, 0});
  CHECK(boxes == std::vector<float>{0, 0, 2, 2, 0, 0, 9, 9, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0});
  std::vector<double> centred = {.5, .5, .1, .1, .5, .5, .2, .1, .5, .5, .1, .3};
  kept = {1, 1, 1};
  CHECK(KeepLargest(std::span(centred), {Coordinates::Form::kCentreSize, true}, 1, kept) == 2);
  CHECK(kept == std::vector<std::uint8_t>{0, 0, 1});
  std::vector<float> oriented = {0, 0, 3, 3, 2, 4, -1, 1, 0, 0, 9, 9, 8, 10, -1, 1};
  kept = {1, 1};
  CHECK(KeepLargest(std::span(oriented), {Coordinates::Form::kFourCorners}, 1, kept) == 1);
  CHECK(kept == std::vector<std::uint8_t>{0, 1});
}
