// Frames (which part of a picture a sample shows, and how) that are turned, have a border, are
// warped, or differ in size by epoch. They must treat pixels, masks, boxes and points alike.
#include "reader/transform/frame.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "format/pixels/nearest.h"
#include "reader/decoding/picture_painter.h"
#include "reader/transform/annotations.h"
#include "reader/transform/geometry.h"
#include "reader/transform/portable_math.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// A picture, or what a sample shows of one, row by row.
struct Grid {
  std::uint32_t width = 0, height = 0, channels = 1;
  std::vector<std::uint8_t> values;
  std::uint8_t At(std::uint32_t x, std::uint32_t y, std::uint32_t c = 0) const {
    return values[(std::size_t{y} * width + x) * channels + c];
  }
  friend bool operator==(const Grid&, const Grid&) = default;
};

// A picture of numbered pixels; they all differ if there are at most 256.
Grid Numbered(std::uint32_t width, std::uint32_t height, std::uint32_t channels = 1) {
  Grid picture{width, height, channels, {}};
  for (std::uint32_t i = 0; i < width * height; ++i)
    for (std::uint32_t c = 0; c < channels; ++c)
      picture.values.push_back(static_cast<std::uint8_t>(i + 100 * c));
  return picture;
}

Frame FrameOf(const Pipeline& steps, const Grid& picture, std::uint64_t position) {
  return Geometry(steps).FrameFor(picture.width, picture.height, DrawSeed(1, 2), position);
}

// What a batch holds of the picture.
Grid Seen(const Frame& frame, const Grid& picture, PixelOrder order = PixelOrder::kInterleaved) {
  Grid seen{frame.region.width(), frame.region.height(), picture.channels, {}};
  seen.values.resize(std::size_t{seen.width} * seen.height * seen.channels, 99);
  const ImagePayload payload{
      Codec::kRaw,   PixelType::kUint8, static_cast<std::uint8_t>(picture.channels),
      picture.width, picture.height,    std::as_bytes(std::span(picture.values))};
  PayloadDecoder decoder;
  ViewPainter painter;
  const PixelProgram no_steps{Pipeline{}};
  const auto decode = [&](const Region& region, const PixelTarget& target) {
    return decoder.Decode(payload, region, target);
  };
  REQUIRE(painter.Paint(decode, frame, no_steps, {},
                        {seen.values.data(), picture.channels, order}) == nullptr);
  return seen;
}

Grid SeenAsMask(const Frame& frame, const Grid& picture) {
  Grid seen{frame.region.width(), frame.region.height(), picture.channels, {}};
  seen.values.resize(std::size_t{seen.width} * seen.height * seen.channels, 99);
  NearestSampler sampler;
  ViewPainter painter;
  const MaskView mask{picture.values.data(), picture.width, picture.height, picture.channels, 1};
  painter.PaintMask([&](const Region& region, std::uint8_t* data,
                        bool) { sampler.Sample(mask, region, PixelOrder::kInterleaved, data); },
                    frame, 1, 0, {seen.values.data(), picture.channels, PixelOrder::kInterleaved});
  return seen;
}

Grid Transposed(const Grid& picture) {
  Grid out{picture.height, picture.width, picture.channels, {}};
  for (std::uint32_t y = 0; y < out.height; ++y)
    for (std::uint32_t x = 0; x < out.width; ++x)
      for (std::uint32_t c = 0; c < out.channels; ++c)
        out.values.push_back(picture.At(y, x, c));
  return out;
}
Grid Mirrored(const Grid& picture, bool across) {
  Grid out{picture.width, picture.height, picture.channels, {}};
  for (std::uint32_t y = 0; y < out.height; ++y)
    for (std::uint32_t x = 0; x < out.width; ++x)
      for (std::uint32_t c = 0; c < out.channels; ++c)
        out.values.push_back(
            picture.At(across ? out.width - 1 - x : x, across ? y : out.height - 1 - y, c));
  return out;
}

// Adds a border of `padding` pixels to the picture and takes width x height pixels from (left, top)
// on.
Grid Padded(const Grid& picture, int padding, bool reflect, std::uint8_t fill, std::uint32_t left,
            std::uint32_t top, std::uint32_t width, std::uint32_t height) {
  Grid out{width, height, picture.channels, {}};
  const auto source = [reflect](int at, int size) {
    if (at >= 0 && at < size) return at;
    if (!reflect) return -1;
    while (at < 0 || at >= size)
      at = at < 0 ? -at : 2 * (size - 1) - at;
    return at;
  };
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const int u = source(static_cast<int>(left + x) - padding, static_cast<int>(picture.width));
      const int v = source(static_cast<int>(top + y) - padding, static_cast<int>(picture.height));
      for (std::uint32_t c = 0; c < picture.channels; ++c) {
        out.values.push_back(u < 0 || v < 0 ? fill
                                            : picture.At(static_cast<std::uint32_t>(u),
                                                         static_cast<std::uint32_t>(v), c));
      }
    }
  }
  return out;
}

std::string PipelineRefusal(const Pipeline& steps, std::vector<OutputSize> sizes = {}) {
  return ErrorText([&] { const Geometry geometry(steps, sizes); }, ErrorCode::kInvalidArgument);
}

}  // namespace

TEST_CASE("sine and cosine agree with the C library") {
  for (double x = -7; x < 7; x += 0.0173) {
    REQUIRE(PortableSin(x) == Approx(std::sin(x)).margin(2e-15));
    REQUIRE(PortableCos(x) == Approx(std::cos(x)).margin(2e-15));
  }
}

TEST_CASE("Flips and quarter turns in any order give the flipped and turned picture", "[no-tsan]") {
  const Grid picture = Numbered(7, 4, 3);
  CHECK(Seen(FrameOf({VerticalFlip{1}}, picture, 0), picture) == Mirrored(picture, false));
  CHECK(Seen(FrameOf({VerticalFlip{1}, HorizontalFlip{1}}, picture, 0), picture) ==
        Mirrored(Mirrored(picture, false), true));
  // Counterclockwise: rows become columns, the last column the first row.
  const Grid once = Mirrored(Transposed(picture), false);
  const Grid twice = Mirrored(Mirrored(picture, false), true);
  const Grid thrice = Mirrored(Transposed(picture), true);
  int counts[4] = {};
  for (std::uint64_t p = 0; p < 2000; ++p) {
    const Frame frame = FrameOf({RandomQuarterTurns{}}, picture, p);
    const Grid seen = Seen(frame, picture);
    const std::vector<const Grid*> all = {&picture, &once, &twice, &thrice};
    const auto which = std::find_if(all.begin(), all.end(),
                                    [&seen](const Grid* turned) { return *turned == seen; });
    REQUIRE(which != all.end());
    ++counts[which - all.begin()];
    // Flips after a turn act on the turned picture.
    const Frame flipped = FrameOf({RandomQuarterTurns{}, HorizontalFlip{1}}, picture, p);
    REQUIRE(Seen(flipped, picture) == Mirrored(seen, true));
    const Frame upended = FrameOf({RandomQuarterTurns{}, VerticalFlip{1}}, picture, p);
    REQUIRE(Seen(upended, picture) == Mirrored(seen, false));
    // So do crops.
    const Frame cut = FrameOf({RandomQuarterTurns{}, CenterCrop(2, 2)}, picture, p);
    const Grid expected =
        Seen(Geometry({CenterCrop(2, 2)}).FrameFor(seen.width, seen.height, 0, 0), seen);
    REQUIRE(Seen(cut, picture) == expected);
  }
  for (const int count : counts)
    CHECK(count == Approx(500).margin(100));
}

TEST_CASE("Planes and masks are turned as interleaved pixels are") {
  const Grid picture = Numbered(6, 5, 3);
  for (std::uint64_t p = 0; p < 40; ++p) {
    RandomCrop crop(9, 4);
    crop.fill = {5, 6, 7};
    const Frame frame = FrameOf({RandomQuarterTurns{}, VerticalFlip{}, crop}, picture, p);
    const Grid seen = Seen(frame, picture);
    const Grid planes = Seen(frame, picture, PixelOrder::kPlanar);
    for (std::uint32_t i = 0; i < 81; ++i)
      for (std::uint32_t c = 0; c < 3; ++c)
        REQUIRE(planes.values[c * 81 + i] == seen.values[i * 3 + c]);
    CHECK(
        SeenAsMask(FrameOf({RandomQuarterTurns{}, VerticalFlip{}, RandomCrop(3)}, picture, p),
                   picture) ==
        Seen(FrameOf({RandomQuarterTurns{}, VerticalFlip{}, RandomCrop(3)}, picture, p), picture));
  }
}

TEST_CASE("A random crop's border reflects the picture or has its fill, at equally likely offsets",
          "[no-tsan]") {
  const Grid picture = Numbered(9, 8);
  for (const bool reflect : {true, false}) {
    RandomCrop crop(8, 3, reflect ? Border::kReflect : Border::kConstant);
    crop.fill = {200, 201, 202};
    std::vector<Grid> crops;
    for (std::uint32_t top = 0; top <= 6; ++top)
      for (std::uint32_t left = 0; left <= 7; ++left)
        crops.push_back(Padded(picture, 3, reflect, 200, left, top, 8, 8));
    std::vector<int> counts(crops.size());
    for (std::uint64_t p = 0; p < 5600; ++p) {
      const Grid seen = Seen(FrameOf({crop}, picture, p), picture);
      REQUIRE(std::count(crops.begin(), crops.end(), seen) == 1);
      ++counts[static_cast<std::size_t>(std::find(crops.begin(), crops.end(), seen) -
                                        crops.begin())];
    }
    for (const int count : counts)
      REQUIRE(count == Approx(100).margin(60));
  }
}

TEST_CASE("Reflection repeats if the picture is smaller than its border") {
  const Grid picture = Numbered(2, 3);
  for (std::uint64_t p = 0; p < 50; ++p) {
    const Frame frame = FrameOf({RandomCrop(17, 4, Border::kReflect)}, picture, p);
    const Grid seen = Seen(frame, picture);
    bool found = false;
    for (std::uint32_t top = 0; top <= 20 && !found; ++top)
      for (std::uint32_t left = 0; left <= 20 && !found; ++left)
        found = seen == Padded(picture, 20, true, 0, left, top, 17, 17);
    REQUIRE(found);
  }
  const Grid dot = Numbered(1, 1);
  CHECK(Seen(FrameOf({RandomCrop(5, 1, Border::kReflect)}, dot, 0), dot).values ==
        std::vector<std::uint8_t>(25, 0));
}

TEST_CASE("A random translation moves by each number of pixels equally often and keeps the size",
          "[no-tsan]") {
  const Grid picture = Numbered(8, 6);
  int counts[9] = {};
  for (std::uint64_t p = 0; p < 3600; ++p) {
    RandomTranslate step;
    step.border = p % 2 == 0 ? Border::kConstant : Border::kReflect;
    step.padding = step.border == Border::kConstant ? 4 : 2;
    const Grid seen = Seen(FrameOf({step}, picture, p), picture);
    const int padding = static_cast<int>(step.padding);
    int matches = 0;
    for (std::uint32_t top = 0; top <= 2 * step.padding; ++top) {
      for (std::uint32_t left = 0; left <= 2 * step.padding; ++left) {
        if (seen != Padded(picture, padding, padding == 2, 0, left, top, 8, 6)) continue;
        ++matches;
        if (padding == 4) ++counts[left];
      }
    }
    REQUIRE(matches == 1);
  }
  for (const int count : counts)
    CHECK(count == Approx(200).margin(60));
}

TEST_CASE("A centred crop by ratio takes the same region as FFCV's") {
  // FFCV: c = int(ratio * min(h, w)); delta = (side - c) // 2 on both axes
  const Region region = FrameOf({CenterResizedCrop(224)}, {500, 375, 1, {}}, 0).region;
  CHECK((region.x.length == 328 && region.y.length == 328));
  CHECK((region.x.start == 86 && region.y.start == 23));
  CHECK((region.x.bound == 86 && region.x.bound_length == 328));
  CHECK((region.x.target == 224 && region.y.target == 224));
  // For other shapes the ratio is of the largest rectangle of that shape, here 500 x 250.
  CenterResizedCrop wide(200, 100);
  wide.ratio = 0.5;
  const Region half = FrameOf({wide}, {500, 375, 1, {}}, 0).region;
  CHECK(
      (half.x.length == 250 && half.y.length == 125 && half.x.start == 125 && half.y.start == 125));
  // The largest rectangle touches two sides of the picture, whatever rounding does.
  for (std::uint32_t side = 1; side < 2000; ++side) {
    const Region high =
        FrameOf({CenterResizedCrop(50, 100).with_ratio(1)}, {2000, side, 1, {}}, 0).region;
    CAPTURE(side);
    REQUIRE((high.y.length == side && high.x.length == std::max(side / 2, 1U)));
  }
  const Region dot = FrameOf({CenterResizedCrop(8)}, {1, 9, 1, {}}, 0).region;
  CHECK((dot.x.length == 1 && dot.y.length == 1));
}

TEST_CASE("An affine step draws its numbers uniformly, and turns the picture about its centre") {
  RandomAffine op(20);
  op.translate_x = 0.25;
  op.min_scale = 0.5;
  op.max_scale = 1.5;
  double angles = 0, angle_squares = 0, scales = 0;
  std::map<int, int> shifts;
  constexpr int kDraws = 4000;
  for (std::uint64_t p = 0; p < kDraws; ++p) {
    const Frame frame = FrameOf({op}, {40, 20, 1, {}}, p);
    REQUIRE(frame.warped);
    const double scale = std::sqrt(frame.warp.Determinant());
    const double angle = std::atan2(frame.warp.yx, frame.warp.xx) * 57.29577951308232;
    REQUIRE((std::abs(angle) <= 20.0001 && scale > 0.4999 && scale < 1.5001));
    angles += angle;
    angle_squares += angle * angle;
    scales += scale;
    const double shift = frame.warp.X(20, 10) - 20;
    REQUIRE(std::abs(shift - std::round(shift)) < 1e-9);
    REQUIRE(frame.warp.Y(20, 10) == Approx(10));
    ++shifts[static_cast<int>(std::round(shift))];
  }
  CHECK(angles / kDraws == Approx(0).margin(0.8));
  CHECK(angle_squares / kDraws == Approx(400.0 / 3).epsilon(0.06));
  CHECK(scales / kDraws == Approx(1).margin(0.02));
  CHECK((shifts.begin()->first == -10 && shifts.rbegin()->first == 10));
  int taken = 0;
  op.probability = 0.3;
  for (std::uint64_t p = 0; p < kDraws; ++p)
    taken += FrameOf({op}, {40, 20, 1, {}}, p).warped ? 1 : 0;
  CHECK(taken == Approx(0.3 * kDraws).margin(150));
}

TEST_CASE("Flips after an affine step flip its result") {
  const Grid picture = Numbered(12, 12);
  for (std::uint64_t p = 0; p < 20; ++p) {
    const Grid plain = SeenAsMask(FrameOf({RandomAffine(40)}, picture, p), picture);
    CHECK(SeenAsMask(FrameOf({RandomAffine(40), HorizontalFlip{1}}, picture, p), picture) ==
          Mirrored(plain, true));
    CHECK(SeenAsMask(FrameOf({RandomAffine(40), VerticalFlip{1}}, picture, p), picture) ==
          Mirrored(plain, false));
  }
}

TEST_CASE("Masks, boxes and points stay with their picture through every geometric step") {
  RandomAffine affine(35);
  affine.min_scale = affine.max_scale = 1.6;
  affine.min_shear_x = -10;
  affine.max_shear_x = 10;
  const std::vector<Pipeline> pipelines = {
      {VerticalFlip{}, RandomQuarterTurns{}, HorizontalFlip{}},
      {RandomTranslate{5}, VerticalFlip{}},
      {RandomQuarterTurns{}, RandomCrop(9, 3, Border::kReflect), RandomQuarterTurns{}},
      {Resize(48, 42), CenterCrop(40)},
      {RandomCrop(14, 2), affine, RandomQuarterTurns{}, VerticalFlip{}},
      {affine},
  };
  const Grid picture = Numbered(16, 14);
  int shown = 0;
  for (const Pipeline& steps : pipelines) {
    for (std::uint64_t p = 0; p < 60; ++p) {
      const Frame frame = FrameOf(steps, picture, p);
      const Grid mask = SeenAsMask(frame, picture);
      const PointMap map(frame, picture.width, picture.height);
      // A point in the middle of every pixel, and a box around it.
      std::vector<double> points, boxes;
      for (std::uint32_t y = 0; y < picture.height; ++y) {
        for (std::uint32_t x = 0; x < picture.width; ++x) {
          points.insert(points.end(), {x + 0.5, y + 0.5, 1});
          boxes.insert(boxes.end(), {x + 0.25, y + 0.25, x + 0.75, y + 0.75});
        }
      }
      MapPoints<double>(points, {1, 3, {}}, {}, map);
      std::vector<std::uint8_t> kept;
      MapBoxes<double>(boxes, {}, map, {BoxRule{0, 0}}, kept);
      for (std::size_t i = 0; i < picture.values.size(); ++i) {
        const double* const point = &points[i * 3];
        const double* const box = &boxes[i * 4];
        if (kept[i] != 0) {
          const Box whole{0, 0, double(map.target_width), double(map.target_height)};
          const Box& ends = map.warped ? whole : map.shown;
          REQUIRE((box[0] >= ends.left && box[1] >= ends.top && box[2] <= ends.right &&
                   box[3] <= ends.bottom));
        }
        if (point[2] == 0) continue;
        ++shown;
        const auto x = static_cast<std::uint32_t>(point[0]);
        const auto y = static_cast<std::uint32_t>(point[1]);
        REQUIRE(mask.At(x, y) == i);
        REQUIRE(kept[i] == 1);
        REQUIRE((box[0] <= point[0] && point[0] <= box[2]));
        REQUIRE((box[1] <= point[1] && point[1] <= box[3]));
      }
    }
  }
  CHECK(shown > 20'000);
}

TEST_CASE("Left and right key points swap where a picture is mirrored, not where it is turned") {
  const Grid picture = Numbered(10, 10);
  for (std::uint64_t p = 0; p < 60; ++p) {
    const Frame frame =
        FrameOf({RandomQuarterTurns{}, VerticalFlip{}, RandomAffine(10)}, picture, p);
    const PointMap map(frame, 10, 10);
    const bool mirrored = map.mirrored();
    std::vector<double> pose = {1, 2, 8, 7};
    MapPoints<double>(pose, {2, 2, {{0, 1}}}, {}, map);
    CHECK(pose[0] == Approx(mirrored ? map.map.X(8, 7) : map.map.X(1, 2)));
    // Alone, the flip is drawn as it is among other steps.
    CHECK(mirrored ==
          (Geometry({VerticalFlip{}}).FrameFor(10, 10, DrawSeed(1, 2), p).region.flip_y));
  }
}

TEST_CASE("Sizes that grow by epoch are those of FFCV's recipe") {
  // np.interp([epoch], [begin, end], [160, 192]), then int(np.round(x / 32)) * 32
  const std::vector<OutputSize> sizes = ProgressiveSizes(160, 192, 8, 16);
  CHECK(sizes == std::vector<OutputSize>{{0, 160, 160}, {12, 192, 192}});
  // 4.5 is rounded to 4, and 5.5 to 6.
  CHECK(ProgressiveSizes(128, 192, 0, 4) ==
        std::vector<OutputSize>{{0, 128, 128}, {2, 160, 160}, {3, 192, 192}});
  CHECK_THROWS_AS(ProgressiveSizes(160, 192, 8, 8), Error);
  // Every size is used, however many epochs there are. In units of 32, sides are rounded at 1.5,
  // 2.5 (to 2) and 3.5.
  const std::vector<OutputSize> slow = ProgressiveSizes(32, 128, 0, std::uint64_t{3} << 60);
  REQUIRE(slow.size() == 4);
  CHECK((slow[1].width == 64 && double(slow[1].epoch) == Approx(0x1p59)));
  CHECK((slow[3].width == 128 && double(slow[3].epoch) == Approx(5 * 0x1p59)));
  CHECK(ProgressiveSizes(192, 128, 0, 4) ==
        std::vector<OutputSize>{{0, 192, 192}, {2, 160, 160}, {3, 128, 128}});
  CHECK_THROWS_AS(ProgressiveSizes(0, 192, 0, 8), Error);
  CHECK_THROWS_AS(ProgressiveSizes(160, 70000, 0, 8), Error);
  CHECK(ProgressiveSizes(17, 64, 0, 8).front() == OutputSize{0, 32, 32});
  CHECK_THROWS_WITH(ProgressiveSizes(16, 64, 0, 8), ContainsSubstring("ProgressiveSizes") &&
                                                        ContainsSubstring("the least side is 17"));
  const Geometry geometry({RandomResizedCrop(224), HorizontalFlip{}}, sizes);
  CHECK((geometry.stages() == 2 && geometry.StageOf(11, 1, 0) == 0 &&
         geometry.StageOf(99, 1, 0) == 1));
  const Frame late = geometry.FrameFor(300, 200, 1, 2, 1);
  CHECK((late.region.width() == 192 && geometry.FixedExtent(0)->width == 160));
  // The part that is cut does not depend on the size.
  CHECK(late.region.x.start == geometry.FrameFor(300, 200, 1, 2, 0).region.x.start);
}

TEST_CASE("Geometric steps that cannot be combined are refused") {
  const std::array<std::uint8_t, 3> grey = {9, 9, 9};
  CHECK_THAT(PipelineRefusal({RandomAffine(5).with_fill(grey), CenterCrop(8)}),
             ContainsSubstring("RandomAffine and CenterCrop may add borders of different kinds"));
  CHECK_THAT(PipelineRefusal({RandomAffine(5).with_fill(grey), RandomAffine(5)}),
             ContainsSubstring("RandomAffine"));
  CHECK_THAT(PipelineRefusal({RandomCrop(9, 4, Border::kReflect), RandomAffine(5), Resize(8)}),
             ContainsSubstring("kReflect"));
  CHECK_THAT(PipelineRefusal({Resize(20, 10), RandomQuarterTurns{}}), ContainsSubstring("square"));
  CHECK_THAT(PipelineRefusal({RandomCrop(8, 4, Border::kReflect)}), ContainsSubstring("half"));
  CHECK_THAT(PipelineRefusal({RandomCrop(9, 4, Border::kReflect), CenterCrop(4)}),
             ContainsSubstring("kReflect"));
  CHECK_THAT(PipelineRefusal({CenterCrop(40), RandomTranslate{2, Border::kReflect}}),
             ContainsSubstring("borders"));
  CHECK_THAT(PipelineRefusal({CenterResizedCrop(0)}), ContainsSubstring("width"));
  RandomAffine shear;
  shear.max_shear_x = 85;
  CHECK_THAT(PipelineRefusal({shear}), ContainsSubstring("80"));
  CHECK_THAT(PipelineRefusal({VerticalFlip{2}}), ContainsSubstring("VerticalFlip needs a prob"));
  CHECK_THAT(PipelineRefusal({HorizontalFlip{std::nan("")}}), ContainsSubstring("HorizontalFlip"));
  CHECK_THAT(PipelineRefusal({HorizontalFlip{}}, {{0, 8, 8}}),
             ContainsSubstring("a step with a width and height"));
  CHECK_THAT(PipelineRefusal({Resize(8)}, {{1, 8, 8}}), ContainsSubstring("epoch 0"));
  CHECK_THAT(PipelineRefusal({Resize(8)}, {{0, 8, 8}, {0, 9, 9}}),
             ContainsSubstring("several sizes for epoch 0"));
  // Any step may follow any other with the same border.
  CHECK_NOTHROW(Geometry({Resize(20), CenterCrop(10), Resize(5), RandomTranslate{2}}));
  CHECK_NOTHROW(Geometry({RandomCrop(8, 4), Resize(20), RandomAffine(5), CenterCrop(30),
                          RandomResizedCrop(9), RandomAffine(9), HorizontalFlip()}));
}
