// Steps of detectors, and steps in orders that need the whole map: what they show of a picture,
// where they take its boxes and points, and the maps that batches give.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include <sluice/parse_pipeline.h>
#include <sluice/preprocess.h>

#include "format/pixels/nearest.h"
#include "reader/decoding/picture_painter.h"
#include "reader/transform/annotations.h"
#include "reader/transform/geometry.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

constexpr int kManyDraws = 2000;

Frame FrameAt(const Pipeline& steps, std::uint32_t width, std::uint32_t height,
              std::uint64_t position) {
  return Geometry(steps).FrameFor(width, height, DrawSeed(5, 1), position);
}

// The picture's value at a point is linear in x and in y, so that bilinear means are exact.
double RampAt(double x, double y, std::size_t channel) {
  return channel == 0 ? x : channel == 1 ? y : 200 - x / 2 - y / 4;
}

Picture Ramp(std::uint32_t width, std::uint32_t height) {
  Picture picture{width, height, 3, {}};
  for (std::uint32_t y = 0; y < height; ++y)
    for (std::uint32_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < 3; ++c)
        picture.pixels.push_back(
            static_cast<std::uint8_t>(std::floor(RampAt(x + 0.5, y + 0.5, c) + 0.5)));
  return picture;
}

Picture RowOfFrame(const Frame& frame, const Picture& picture) {
  Picture row{frame.width(), frame.height(), 3, {}};
  row.pixels.resize(std::size_t{row.width} * row.height * 3 + 16, 77);
  const ImagePayload payload{
      Codec::kRaw,   PixelType::kUint8, 3,
      picture.width, picture.height,    std::as_bytes(std::span(picture.pixels))};
  PayloadDecoder decoder;
  ViewPainter painter;
  const PixelProgram no_steps{Pipeline{}};
  const auto decode = [&](const Region& region, const PixelTarget& target) {
    return decoder.Decode(payload, region, target);
  };
  REQUIRE(painter.Paint(decode, frame, no_steps, {},
                        {row.pixels.data(), 3, PixelOrder::kInterleaved}) == nullptr);
  for (std::size_t i = row.pixels.size() - 16; i < row.pixels.size(); ++i)
    REQUIRE(row.pixels[i] == 77);
  return row;
}

std::vector<std::uint8_t> MaskOfFrame(const Frame& frame, const std::vector<std::uint8_t>& mask,
                                      std::uint32_t width, std::uint32_t height) {
  std::vector<std::uint8_t> row(std::size_t{frame.width()} * frame.height(), 99);
  NearestSampler sampler;
  ViewPainter painter;
  painter.PaintMask(
      [&](const Region& region, std::uint8_t* data, bool) {
        sampler.Sample({mask.data(), width, height, 1, 1}, region, PixelOrder::kInterleaved, data);
      },
      frame, 1, 0, {row.data(), 1, PixelOrder::kInterleaved});
  return row;
}

// The greatest distance between the distribution of numbers and the uniform one from 0 to 1
// (Kolmogorov, Smirnov), times the square root of how many there are: below 1.95 but for one in a
// thousand.
double UniformDistance(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  double most = 0;
  const auto count = static_cast<double>(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    most = std::max({most, std::abs(numbers[i] - double(i) / count),
                     std::abs(numbers[i] - double(i + 1) / count)});
  }
  return most * std::sqrt(count);
}
// The same for two lists of equal length.
double DistanceOf(std::vector<double> a, std::vector<double> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  double most = 0;
  for (const auto& list : {a, b}) {
    for (const double at : list) {
      const auto share = [at](const std::vector<double>& of) {
        return double(std::ranges::upper_bound(of, at) - of.begin()) / double(of.size());
      };
      most = std::max(most, std::abs(share(a) - share(b)));
    }
  }
  return most * std::sqrt(double(a.size()) / 2);
}
constexpr double kUnlikely = 1.95;

}  // namespace

TEST_CASE("Any steps in any order show what the map says, in the visible rectangle", "[no-tsan]") {
  const Picture picture = Ramp(120, 90);
  const RandomAffine turned = RandomAffine(40).scale(0.7, 1.4).translate(0.1, 0.1);
  const std::vector<Pipeline> pipelines = {
      {RandomZoomOut(1, 3), Resize(61, 47)},
      {RandomZoomOut(1, 3), RandomResizedCrop(64).scale(0.3, 1), HorizontalFlip()},
      {RandomCrop(100, 30), VerticalFlip(), Resize(77, 50), RandomCrop(60, 10)},
      {RandomCrop(100, 30), Resize(64), RandomQuarterTurns(), Resize(50, 81), HorizontalFlip(),
       CenterCrop(70)},
      {RandomAffine(0).scale(0.4, 1.6).translate(0.2, 0.2).with_size(96, 80), HorizontalFlip()},
      {Letterbox(100, 64).with_fill({0, 0, 0}), HorizontalFlip(), Resize(80)},
      {ScaleJitter(100).scale(0.4, 1.5), FixedSizeCrop(90)},
      {turned, Resize(50, 70), CenterCrop(60)},
      {RandomCrop(80, 10), turned, HorizontalFlip(), RandomResizedCrop(60, 40).scale(0.3, 1)},
      {turned, turned, VerticalFlip(), Resize(90)},
      {RandomAffine(30).scale(0.5, 1.5).with_size(90, 100), RandomCrop(70, 8)},
      {RandomPerspective(0.5, 1)},
      {Resize(70), RandomPerspective(0.6, 1), HorizontalFlip(), RandomCrop(60, 10), turned},
  };
  std::size_t shown = 0, border = 0;
  for (std::size_t p = 0; p < pipelines.size(); ++p) {
    for (std::uint64_t position = 0; position < 40; ++position) {
      CAPTURE(p, position);
      const Frame frame = FrameAt(pipelines[p], 120, 90, position);
      const Picture row = RowOfFrame(frame, picture);
      const PointMap map(frame, 120, 90);
      const Projection back = map.map.Inverse();
      // A pixel of a shrunk picture is a mean, which the edges of the picture shift.
      const double near_edge = 3.5 / std::min(1.0, std::sqrt(std::abs(map.map.Determinant())));
      std::vector<std::uint8_t> border_map(std::size_t{row.width} * row.height);
      VisiblePart(frame).WriteBorder(border_map.data());
      for (std::uint32_t y = 0; y < row.height; ++y) {
        for (std::uint32_t x = 0; x < row.width; ++x) {
          const double from_x = back.X(x + 0.5, y + 0.5), from_y = back.Y(x + 0.5, y + 0.5);
          const double depth = std::min({from_x, from_y, 120 - from_x, 90 - from_y});
          const bool in_sight = map.Shows(from_x, from_y) && back.W(x + 0.5, y + 0.5) > 0;
          const std::uint8_t* const pixel = row.at(x, y);
          const bool black = pixel[0] == 0 && pixel[1] == 0 && pixel[2] == 0;
          const bool marked = border_map[std::size_t{y} * row.width + x] != 0;
          CAPTURE(x, y, from_x, from_y, in_sight);
          if (in_sight && depth > near_edge && !marked) {
            ++shown;
            for (std::size_t c = 0; c < 3; ++c)
              REQUIRE(pixel[c] == Approx(RampAt(from_x, from_y, c)).margin(4));
          } else if (depth < -near_edge) {
            ++border;
            REQUIRE(black);
          }
          // The border map counts places in 2^-16 of a pixel.
          REQUIRE((!marked || black || std::abs(depth) < 0.01));
        }
      }
    }
  }
  CHECK((shown > 400'000 && border > 50'000));
}

TEST_CASE(
    "A picture in a border keeps whole-pixel edges, at most half a pixel from the exact ones") {
  for (std::uint64_t position = 0; position < kManyDraws; ++position) {
    const Frame frame = FrameAt({RandomZoomOut(1, 4), Resize(63, 41)}, 101, 57, position);
    const auto check = [](const Span& span, const std::optional<ExactSpan>& exact,
                          std::uint32_t size) {
      REQUIRE((span.start >= 0 && span.start + span.length <= size + 1e-9 && span.length > 0));
      if (!exact) return;
      REQUIRE(std::abs(span.at - exact->at) <= 0.5 + 1e-9);
      REQUIRE(std::abs(span.at + double(span.out) - exact->at - exact->out) <= 0.5 + 1e-9);
    };
    check(frame.region.x, frame.exact_x, 101);
    check(frame.region.y, frame.exact_y, 57);
    REQUIRE(LiesInside(frame.region, 101, 57));
  }
}

TEST_CASE("A shrinking warp is decoded at the scale at which it shows") {
  const Frame frame = FrameAt({RandomAffine(20).scale(0.1, 0.1).with_size(64, 64)}, 1000, 800, 3);
  REQUIRE(frame.warped);
  CHECK((frame.region.width() >= 64 && frame.region.width() <= 110));
  CHECK(frame.region.x.length > 500);
  // Stripes of a pixel are a grey then, not a moire of black and white.
  Picture stripes{1000, 800, 3, {}};
  for (std::uint32_t i = 0; i < 1000 * 800; ++i)
    stripes.pixels.insert(stripes.pixels.end(), 3, i % 2 == 0 ? 0 : 200);
  const Picture row = RowOfFrame(frame, stripes);
  for (std::uint32_t y = 28; y < 36; ++y)
    for (std::uint32_t x = 28; x < 36; ++x)
      REQUIRE(row.at(x, y)[0] == Approx(100).margin(12));
}

TEST_CASE("Masks, boxes and points stay with their picture through steps in any order",
          "[no-tsan]") {
  std::vector<std::uint8_t> numbers;
  for (std::uint32_t i = 0; i < 16 * 14; ++i)
    numbers.push_back(static_cast<std::uint8_t>(i + 1));
  const RandomAffine turned = RandomAffine(35).scale(1.2, 3);
  const std::vector<Pipeline> pipelines = {
      {RandomZoomOut(1, 2), Resize(90, 70)},
      {RandomCrop(18, 6), Resize(80), RandomQuarterTurns(), RandomCrop(60, 9)},
      {turned, Resize(100), CenterCrop(80), HorizontalFlip()},
      {turned, RandomAffine(20).scale(1, 1.5), VerticalFlip(), Resize(90)},
      {Resize(64, 56), RandomPerspective(0.4, 1), RandomCrop(70, 4)},
      {RandomAffine(25).scale(3, 5).with_size(70, 60)},
      {RandomAffine(0).scale(3, 5).translate(0.1, 0.1).with_size(70, 60)},
  };
  int shown = 0;
  for (std::size_t s = 0; s < pipelines.size(); ++s) {
    for (std::uint64_t p = 0; p < 60; ++p) {
      CAPTURE(s, p);
      const Frame frame = FrameAt(pipelines[s], 16, 14, p);
      const std::vector<std::uint8_t> row = MaskOfFrame(frame, numbers, 16, 14);
      const PointMap map(frame, 16, 14);
      std::vector<double> points, boxes;
      for (std::uint32_t y = 0; y < 14; ++y) {
        for (std::uint32_t x = 0; x < 16; ++x) {
          points.insert(points.end(), {x + 0.5, y + 0.5, 1});
          boxes.insert(boxes.end(), {x + 0.25, y + 0.25, x + 0.75, y + 0.75});
        }
      }
      MapPoints<double>(points, {1, 3, {}}, {}, map);
      std::vector<std::uint8_t> kept;
      MapBoxes<double>(boxes, {}, map, {BoxRule{0, 0}}, kept);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double* const point = &points[i * 3];
        const double* const box = &boxes[i * 4];
        if (kept[i] != 0) {
          REQUIRE(
              (box[0] >= 0 && box[1] >= 0 && box[2] <= frame.width() && box[3] <= frame.height()));
        }
        if (point[2] == 0) continue;
        const auto x = static_cast<std::uint32_t>(point[0]);
        const auto y = static_cast<std::uint32_t>(point[1]);
        if (x >= frame.width() || y >= frame.height()) continue;  // on the edge
        ++shown;
        const std::uint8_t at = row[std::size_t{y} * frame.width() + x];
        // Where an edge was rounded, its pixel may be border.
        REQUIRE((at == numbers[i] || (frame.exact_x && at == 0)));
        REQUIRE(kept[i] == 1);
        REQUIRE((box[0] <= point[0] && point[0] <= box[2]));
        REQUIRE((box[1] <= point[1] && point[1] <= box[3]));
      }
    }
  }
  CHECK(shown > 30'000);
}

TEST_CASE("Letterbox places pictures as Ultralytics does") {
  struct Placed {
    std::uint32_t width, height, to_width, to_height, out_width, out_height, left, top;
  };
  // r = min(h / H, w / W); round(W r), round(H r); round(d / 2 - .1): by Python.
  constexpr Placed kPlaced[] = {
      {640, 480, 640, 640, 640, 480, 0, 80},
      {333, 500, 640, 640, 426, 640, 107, 0},
      {1000, 3, 64, 64, 64, 1, 0, 31},
      {101, 57, 320, 200, 320, 181, 0, 9},
      {30, 47, 65, 65, 41, 65, 12, 0},
      {500, 375, 416, 416, 416, 312, 0, 52},
      {1, 1, 7, 9, 7, 7, 0, 1},
      {77, 76, 76, 76, 76, 75, 0, 0},
  };
  for (const Placed& placed : kPlaced) {
    CAPTURE(placed.width, placed.height);
    const Frame frame =
        FrameAt({Letterbox(placed.to_width, placed.to_height)}, placed.width, placed.height, 0);
    const Region& region = frame.region;
    CHECK((region.width() == placed.to_width && region.height() == placed.to_height));
    CHECK((region.x.out == placed.out_width && region.y.out == placed.out_height));
    CHECK((region.x.at == placed.left && region.y.at == placed.top));
    CHECK(region.fill == std::array<std::uint8_t, 3>{114, 114, 114});
  }
  const Region small =
      FrameAt({Letterbox(64).with_scale_up(false).with_center(false)}, 20, 30, 0).region;
  CHECK((small.x.out == 20 && small.y.out == 30 && small.x.at == 0 && small.y.at == 0));
}

TEST_CASE("RandomZoomOut draws its canvas and place as torchvision does", "[no-tsan]") {
  constexpr std::uint32_t kWidth = 1000, kHeight = 700;
  std::vector<double> sides, lefts, tops;
  int taken = 0;
  for (std::uint64_t p = 0; p < kManyDraws; ++p) {
    const Frame frame = FrameAt({RandomZoomOut()}, kWidth, kHeight, p);
    const Region& region = frame.region;
    REQUIRE((region.x.out == kWidth && region.y.out == kHeight));  // never cut
    if (region.width() == kWidth && region.height() == kHeight) continue;
    ++taken;
    sides.push_back((region.width() / double(kWidth) - 1) / 3);
    REQUIRE(std::abs(region.height() - region.width() * 0.7) <= 1);
    lefts.push_back(region.x.at / double(region.width() - kWidth + 1));
    tops.push_back(region.y.at / double(region.height() - kHeight + 1));
  }
  CHECK(taken == Approx(kManyDraws / 2).margin(100));
  CHECK(UniformDistance(sides) < kUnlikely);
  CHECK(UniformDistance(lefts) < kUnlikely);
  CHECK(UniformDistance(tops) < kUnlikely);
}

TEST_CASE("ScaleJitter, FixedSizeCrop and RandomShortestSize draw as torchvision does",
          "[no-tsan]") {
  std::vector<double> scales, places;
  std::map<std::uint32_t, int> shortest;
  for (std::uint64_t p = 0; p < kManyDraws; ++p) {
    // ratio = min(1024 / 640, 1024 / 1000) * scale; int(side * ratio)
    const Frame jittered = FrameAt({ScaleJitter(1024)}, 1000, 640, p);
    scales.push_back((jittered.width() / 1024.0 - 0.1) / 1.9);
    REQUIRE(std::abs(jittered.height() - jittered.width() * 0.64) <= 1);
    const Region cut = FrameAt({FixedSizeCrop(300, 900)}, 1000, 640, p).region;
    REQUIRE((cut.width() == 300 && cut.height() == 900));
    REQUIRE((cut.x.out == 300 && cut.y.out == 640 && cut.y.at == 0));
    places.push_back(cut.x.start / 700);
    const Frame sized = FrameAt({RandomShortestSize({480, 512, 800}, 1000)}, 1000, 640, p);
    ++shortest[sized.height()];
    REQUIRE((sized.width() <= 1000 && std::abs(sized.height() - sized.width() * 0.64) <= 1));
  }
  CHECK(UniformDistance(scales) < kUnlikely);
  CHECK(UniformDistance(places) < kUnlikely);
  // 800 / 640 would make the longer side 1250, so it gets 1000 / 1000.
  CHECK(shortest.size() == 3);
  for (const std::uint32_t side : {480U, 512U, 640U})
    CHECK(shortest[side] == Approx(kManyDraws / 3).margin(110));
}

TEST_CASE("RandomPerspective moves the corners as torchvision does", "[no-tsan]") {
  constexpr std::uint32_t kWidth = 201, kHeight = 140;  // bounds: int(.5 * 100) and int(.5 * 70)
  std::vector<double> moved[8];
  for (std::uint64_t p = 0; p < kManyDraws; ++p) {
    const Frame frame = FrameAt({RandomPerspective(0.5, 1)}, kWidth, kHeight, p);
    const Projection map = frame.Map();
    for (int corner = 0; corner < 4; ++corner) {
      const bool right = corner == 1 || corner == 2, low = corner >= 2;
      const double x = right ? kWidth - 1.0 : 0, y = low ? kHeight - 1.0 : 0;
      const double by_x = std::abs(map.X(x, y) - x), by_y = std::abs(map.Y(x, y) - y);
      REQUIRE((by_x == Approx(std::round(by_x)).margin(1e-6) && by_x < 50.5));
      REQUIRE((by_y == Approx(std::round(by_y)).margin(1e-6) && by_y < 35.5));
      moved[2 * corner].push_back((std::round(by_x) + 0.5) / 51);
      moved[2 * corner + 1].push_back((std::round(by_y) + 0.5) / 36);
    }
  }
  for (const std::vector<double>& numbers : moved)
    CHECK(UniformDistance(numbers) < kUnlikely);
}

namespace {

// torchvision's rule with other random numbers: the crop, or the whole picture.
Box SimulatedIoUCrop(const std::vector<Box>& boxes, double width, double height,
                     std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const double options[] = {0, 0.1, 0.3, 0.5, 0.7, 0.9, 1};
  for (;;) {
    const double option = options[std::uniform_int_distribution<int>(0, 6)(random)];
    if (option >= 1) return {0, 0, width, height};
    for (int trial = 0; trial < 40; ++trial) {
      const double w = std::floor(width * (0.3 + 0.7 * uniform(random)));
      const double h = std::floor(height * (0.3 + 0.7 * uniform(random)));
      if (w / h < 0.5 || w / h > 2) continue;
      const double left = std::floor((width - w) * uniform(random));
      const double top = std::floor((height - h) * uniform(random));
      double best = -1;
      for (const Box& box : boxes) {
        const double x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
        if (!(left < x && x < left + w && top < y && y < top + h)) continue;
        const double both_w = std::min(box.right, left + w) - std::max(box.left, left);
        const double both_h = std::min(box.bottom, top + h) - std::max(box.top, top);
        const double both = std::max(both_w, 0.0) * std::max(both_h, 0.0);
        const double area = (box.right - box.left) * (box.bottom - box.top);
        best = std::max(best, both / (area + w * h - both));
      }
      if (best >= option && best >= 0) return {left, top, left + w, top + h};
    }
  }
}

}  // namespace

TEST_CASE("RandomIoUCrop draws as torchvision does, and drops boxes by their centres",
          "[no-tsan]") {
  const std::vector<Box> boxes = {{20, 30, 120, 200}, {150, 40, 300, 180}, {10, 10, 40, 30}};
  const Geometry geometry({RandomIoUCrop()});
  CHECK(geometry.boxes_step() == "RandomIoUCrop");
  std::mt19937_64 random(7);
  std::vector<double> widths[2], lefts[2], tops[2];
  for (std::uint64_t p = 0; p < kManyDraws; ++p) {
    PictureBoxes found{boxes, {0, 0, 0}};
    const Region region = geometry.FrameFor(320, 240, DrawSeed(5, 1), p, 0, &found).region;
    const Box simulated = SimulatedIoUCrop(boxes, 320, 240, random);
    const auto add = [&](int of, double width, double left, double top) {
      widths[of].push_back(width);
      lefts[of].push_back(left);
      tops[of].push_back(top);
    };
    add(0, region.x.length, region.x.start, region.y.start);
    add(1, simulated.right - simulated.left, simulated.left, simulated.top);
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      const double x = (boxes[b].left + boxes[b].right) / 2 - region.x.start;
      const double y = (boxes[b].top + boxes[b].bottom) / 2 - region.y.start;
      const bool inside = x > 0 && y > 0 && x < region.x.length && y < region.y.length;
      REQUIRE(found.dropped[b] == (inside ? 0 : 1));
    }
  }
  CHECK(DistanceOf(widths[0], widths[1]) < kUnlikely);
  CHECK(DistanceOf(lefts[0], lefts[1]) < kUnlikely);
  CHECK(DistanceOf(tops[0], tops[1]) < kUnlikely);
  // Without boxes, or with boxes that are out of sight, the picture stays whole. So it does if no
  // option can be met: the tries end.
  PictureBoxes none, impossible{{{0, 0, 1, 1}}, {0}},
      odd{{{5, 5, 2, 9}, {std::nan(""), 0, 9, 9}}, {0, 0}};
  for (std::uint64_t p = 0; p < 50; ++p) {
    CHECK(geometry.FrameFor(320, 240, 1, p, 0, &none).region == Region::Whole(320, 240));
    CHECK(geometry.FrameFor(320, 240, 1, p, 0, &odd).region == Region::Whole(320, 240));
    CHECK(Geometry({RandomIoUCrop().with_sampler_options({0.9})})
              .FrameFor(320, 240, 1, p, 0, &impossible)
              .region == Region::Whole(320, 240));
  }
}

namespace {

// Pictures of 40 to 87 by 30 to 61 pixels, with boxes: sample i has i % 4 of them, of classes
// 10 i + b.
std::filesystem::path WriteBoxed(const TemporaryFolder& folder, bool with_boxes = true) {
  const std::filesystem::path path = folder / "boxed";
  const Field boxes = BoxesField();
  const Field classes = ClassesField();
  Schema schema{{Field::Image()}};
  if (with_boxes) schema.fields.insert(schema.fields.end(), {boxes, classes});
  DatasetWriter writer(path, schema, {"boxed", 1'000'000, 8});
  for (std::uint32_t i = 0; i < 24; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    const Picture picture = Ramp(40 + 13 * i % 48, 30 + 7 * i % 32);
    sample.SetPixels("image", picture.width, picture.height, 3, PixelType::kUint8,
                     std::as_bytes(std::span(picture.pixels)));
    std::vector<float> corners;
    std::vector<std::int32_t> numbers;
    for (std::uint32_t b = 0; b < i % 4; ++b) {
      const auto x = static_cast<float>(3 + 9 * b), y = static_cast<float>(2 + 7 * b);
      corners.insert(corners.end(), {x, y, x + 16, y + 12});
      numbers.push_back(static_cast<std::int32_t>(10 * i + b));
    }
    if (with_boxes) {
      sample.SetArray<float>("boxes", corners);
      sample.SetArray<std::int32_t>("classes", numbers);
    }
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

LoaderOptions BoxedOptions(const Pipeline& steps, ImageSizes sizes = ImageSizes::kEqual) {
  LoaderOptions options;
  options.transform = steps;
  options.batch_size = 5;
  options.threads = 2;
  options.output.image_sizes = sizes;
  return options;
}

}  // namespace

TEST_CASE("Batches give the map of each row, which has moved its boxes") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteBoxed(folder));
  const Pipeline pipelines[] = {
      {Letterbox(64)},
      {RandomZoomOut(), RandomIoUCrop(), Resize(96, 72), HorizontalFlip()},
      {ScaleJitter(64), FixedSizeCrop(64)},
      {RandomPerspective(0.3, 0.7), Resize(50)},
      {RandomAffine(10).scale(0.5, 1.5).with_size(64, 64)}};
  for (const Pipeline& steps : pipelines) {
    LoaderOptions options = BoxedOptions(steps);
    options.output.boxes = {0, 0};
    Loader loader(dataset, options);
    std::size_t compared = 0;
    for (const Batch& batch : loader.Epoch(1)) {
      const auto boxes = batch.Variable<float>("boxes");
      const auto classes = batch.Variable<std::int32_t>("classes");
      REQUIRE(batch.maps().size() == batch.size());
      for (std::size_t row = 0; row < batch.size(); ++row) {
        const RowMap& m = batch.maps()[row];
        REQUIRE(classes[row].size() * 4 == boxes[row].size());
        for (std::size_t b = 0; b < classes[row].size(); ++b) {
          // The stored box, by its class.
          const int number = classes[row][b] % 10;
          const double left = 3 + 9 * number, top = 2 + 7 * number;
          double low_x = 1e9, low_y = 1e9, high_x = -1e9, high_y = -1e9;
          for (const auto& [x, y] :
               {std::pair(left, top), {left + 16, top}, {left, top + 12}, {left + 16, top + 12}}) {
            const double w = m[6] * x + m[7] * y + m[8];
            low_x = std::min(low_x, (m[0] * x + m[1] * y + m[2]) / w);
            high_x = std::max(high_x, (m[0] * x + m[1] * y + m[2]) / w);
            low_y = std::min(low_y, (m[3] * x + m[4] * y + m[5]) / w);
            high_y = std::max(high_y, (m[3] * x + m[4] * y + m[5]) / w);
          }
          const auto box = boxes[row].subspan(b * 4, 4);
          // The box in the row is what shows of it.
          REQUIRE((box[0] >= low_x - 1e-3 && box[1] >= low_y - 1e-3));
          REQUIRE((box[2] <= high_x + 1e-3 && box[3] <= high_y + 1e-3));
          const auto side = static_cast<double>(batch.image().width);
          if (box[0] > 0.01) compared += std::abs(box[0] - low_x) < 1e-3 ? 1 : 0;
          if (box[2] < side - 0.01) compared += std::abs(box[2] - high_x) < 1e-3 ? 1 : 0;
        }
      }
    }
    CHECK(compared > 20);
  }
}

TEST_CASE("Rows that are copied, kept or cut have their maps, too") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 40));
  LoaderOptions options;
  options.batch_size = 8;
  const auto maps_of = [&] {
    std::vector<RowMap> maps;
    Loader loader(dataset, options);
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
      for (const Batch& batch : loader.Epoch(epoch))
        maps.insert(maps.end(), batch.maps().begin(), batch.maps().end());
    return maps;
  };
  const RowMap same = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (const RowMap& map : maps_of())
    CHECK(map == same);
  options.transform = {RandomCrop(8, 2), HorizontalFlip()};
  const std::vector<RowMap> copied = maps_of();
  CHECK(std::ranges::any_of(copied, [](const RowMap& map) { return map[0] == -1; }));
  CHECK(std::ranges::any_of(copied, [](const RowMap& map) { return map[2] == 2; }));
  options.integrity.verify = Verify::kAlways;  // other code makes these rows
  CHECK(maps_of() == copied);
  options.transform = {CenterCrop(4)};
  options.sample_function = [](MutableSample&) {};
  options.keep = DecodedPictures{1 << 20};
  options.keep->function_is_deterministic = true;
  for (const RowMap& map : maps_of())
    CHECK(map == RowMap{1, 0, -2, 0, 1, -2, 0, 0, 1});
}

TEST_CASE("Rows of drawn sizes fit their bounds, whatever is drawn") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteBoxed(folder));
  for (const char* const text :
       {"shortest:24-31-47+60", "scalejitter:50/0.3/1.7", "zoomout:1/3@0.8", "ioucrop",
        "zoomout,ioucrop,shortest:20-29", "zoomout,turns,center:40", "scalejitter:40x30,turns"}) {
    INFO(text);
    for (const ImageSizes sizes : {ImageSizes::kPadded, ImageSizes::kOwn}) {
      Loader loader(dataset, BoxedOptions(ParsePipeline(text), sizes));
      std::size_t rows = 0;
      for (std::uint64_t epoch = 0; epoch < 40; ++epoch)
        for (const Batch& batch : loader.Epoch(epoch))
          rows += batch.size();
      CHECK(rows == 40 * 24);
    }
  }
}

TEST_CASE("Rows of thin pictures fit their bounds although a side is cut to one pixel") {
  const TemporaryFolder folder;
  const std::pair<std::uint32_t, std::uint32_t> pictures[] = {{640, 32}, {40, 3}, {3, 500}, {1, 9}};
  for (const auto& [width, height] : pictures) {
    INFO(width << "x" << height);
    const std::filesystem::path path = folder / std::to_string(width);
    DatasetWriter writer(path, {{Field::Image()}});
    for (int i = 0; i < 4; ++i) {
      SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
      sample.SetPixels("image", width, height, 1, PixelType::kUint8,
                       std::vector<std::byte>(std::size_t{width} * height));
      writer.Add(sample);
    }
    writer.Finish();
    for (const char* const text : {"scalejitter:320,short:32", "scalejitter:90/0.01/3,short:9",
                                   "zoomout:1/3,short:32", "shortest:1-2-3+7,short:16"}) {
      INFO(text);
      Loader loader(Dataset::Open(path), BoxedOptions(ParsePipeline(text), ImageSizes::kOwn));
      std::size_t rows = 0;
      for (std::uint64_t epoch = 0; epoch < 200; ++epoch)
        for (const Batch& batch : loader.Epoch(epoch))
          rows += batch.size();
      CHECK(rows == 200 * 4);
    }
  }
}

TEST_CASE("Steps that cannot be as asked are refused by name") {
  const TemporaryFolder folder;
  const auto refusal = [](const Dataset& dataset, LoaderOptions options) {
    return ErrorText([&] { Loader loader(dataset, std::move(options)); },
                     ErrorCode::kInvalidArgument);
  };
  const Dataset dataset = Dataset::Open(WriteBoxed(folder));
  CHECK_THAT(refusal(dataset, BoxedOptions({ScaleJitter(64)})),
             ContainsSubstring("ScaleJitter draws the size of its result") &&
                 ContainsSubstring("FixedSizeCrop(640)"));
  CHECK_THAT(refusal(dataset, BoxedOptions({RandomZoomOut()})),
             ContainsSubstring("RandomZoomOut draws the size"));
  LoaderOptions without = BoxedOptions({RandomIoUCrop(), Resize(32)});
  without.output.fields = {"image"};
  CHECK_THAT(refusal(dataset, without), ContainsSubstring("RandomIoUCrop chooses its crop by the "
                                                          "boxes of the image") &&
                                            ContainsSubstring("LoaderOptions::output.fields"));
  CHECK_THAT(refusal(dataset, BoxedOptions({Letterbox(64), RandomAffine(5).with_size(9, 9)})),
             ContainsSubstring("Letterbox and RandomAffine may add borders of different kinds"));
  LoaderOptions served = BoxedOptions({Letterbox(64).with_fill({7, 8, 9})});
  const std::string text = Loader(dataset, served).PipelineText();
  CHECK(Preprocess(text).shape(1).width == 64);
  LoaderOptions random = BoxedOptions({ScaleJitter(64), FixedSizeCrop(64)});
  CHECK_THAT(ErrorText([&] { Preprocess preprocess(Loader(dataset, random).PipelineText()); },
                       ErrorCode::kInvalidArgument),
             ContainsSubstring("ScaleJitter(64, 64") &&
                 ContainsSubstring("makes a different row each time"));
}
