// Distributions of the random steps that the steps' own tests do not check. Each drawn number is
// computed from the step's result: from a region, or from pixels that are chosen so that they show
// the number. Most tests count the numbers in bins, and each count must be within five standard
// deviations of the expected one. The blur's test checks mean and variance instead.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "format/random.h"
#include "reader/transform/augment.h"
#include "reader/transform/batch_mix.h"
#include "reader/transform/geometry.h"
#include "reader/transform/pixel_program.h"
#include "tests/formula_pictures.h"
#include "tests/reader/playing.h"
#include "tests/reader/run_augment.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kTries = 4000;

// Checks that numbers from 0 to 1 are equally frequent in each of ten bins.
void CheckUniform(const std::vector<double>& numbers) {
  std::vector<int> counts(10);
  for (const double number : numbers) {
    REQUIRE((number > -0.02 && number < 1.02));  // rounding to pixels and to 8 bits
    ++counts[static_cast<std::size_t>(std::clamp(number * 10, 0.0, 9.0))];
  }
  const double mean = double(numbers.size()) / 10;
  for (const int count : counts)
    CHECK(count == Approx(mean).margin(5 * std::sqrt(mean)));
}

void CheckShare(std::uint64_t count, double probability) {
  CHECK(double(count) == Approx(probability * kTries).margin(5 * std::sqrt(probability * kTries)));
}

Region DrawnRegion(const Pipeline& steps, std::uint32_t width, std::uint32_t height,
                   std::uint64_t position) {
  return Geometry(steps).FrameFor(width, height, DrawSeed(3, 1), position).region;
}

std::vector<std::uint8_t> Changed(const Transform& step, std::vector<std::uint8_t> values,
                                  std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                                  std::uint64_t position) {
  static StepScratch scratch;
  const PixelProgram program(Pipeline{step});
  program.CheckSize(width, height, channels);
  program.Run({values.data(), width, height, channels}, DrawSeed(3, 1), position, scratch);
  return values;
}

}  // namespace

TEST_CASE("A random resized crop lies anywhere that it fits, along either side") {
  std::vector<double> lefts, tops;
  for (std::uint64_t p = 0; p < kTries; ++p) {
    RandomResizedCrop op(64);
    op.max_scale = 0.4;
    const Region region = DrawnRegion({op}, 1000, 800, p);
    lefts.push_back(region.x.start / (1000 - region.x.length));
    tops.push_back(region.y.start / (800 - region.y.length));
  }
  CheckUniform(lefts);
  CheckUniform(tops);
}

TEST_CASE("A random crop out of a larger picture lies anywhere, along either side") {
  std::vector<double> lefts, tops;
  for (std::uint64_t p = 0; p < kTries; ++p) {
    const Region region = DrawnRegion({RandomCrop(100)}, 500, 900, p);
    lefts.push_back((region.x.start + 0.5) / 401);
    tops.push_back((region.y.start + 0.5) / 801);
  }
  CheckUniform(lefts);
  CheckUniform(tops);
}

TEST_CASE("Flips and quarter turns have their probabilities, and all turns are equally frequent") {
  std::uint64_t upended = 0, across = 0, turned = 0;
  std::map<std::pair<bool, bool>, std::uint64_t> quarters;
  for (std::uint64_t p = 0; p < kTries; ++p) {
    upended += DrawnRegion({VerticalFlip{0.2}}, 8, 8, p).flip_y ? 1 : 0;
    across += DrawnRegion({VerticalFlip{1}, HorizontalFlip{0.7}}, 8, 8, p).flip ? 1 : 0;
    const Region region = DrawnRegion({RandomQuarterTurns{0.3}}, 8, 8, p);
    if (!region.transpose && !region.flip && !region.flip_y) continue;
    ++turned;
    ++quarters[{region.transpose, region.flip}];
  }
  CheckShare(upended, 0.2);
  CheckShare(across, 0.7);
  CheckShare(turned, 0.3);
  REQUIRE(quarters.size() == 3);
  for (const auto& [which, count] : quarters)
    CheckShare(count, 0.1);
}

TEST_CASE("A jitter's contrast and saturation are uniform about 1") {
  std::vector<double> contrasts, saturations;
  for (std::uint64_t p = 0; p < kTries; ++p) {
    // Contrast spreads values about their mean of 100, saturation about the colour's grey. No value
    // reaches 0 or 255.
    const auto grey = Changed(ColorJitter{0, 0.4}, {50, 150}, 2, 1, 1, p);
    contrasts.push_back(((grey[1] - grey[0]) / 100.0 - 0.6) / 0.8);
    const auto colour = Changed(ColorJitter{0, 0, 0.5}, {200, 100, 100}, 1, 1, 3, p);
    saturations.push_back(((colour[0] - colour[2]) / 100.0 - 0.5) / 1.0);
  }
  CheckUniform(contrasts);
  CheckUniform(saturations);
}

TEST_CASE("HSV's turn and factors are uniform between their bounds") {
  std::vector<double> turns, saturations, values;
  for (std::uint64_t p = 0; p < kTries; ++p) {
    // Red is turned by less than a sixth: green grows with turns above 0, blue with the others.
    const auto red = Changed(RandomHSV{0.15, 0, 0}, {250, 0, 0}, 1, 1, 3, p);
    turns.push_back(((red[1] - red[2]) / 250.0 / 6 + 0.15) / 0.3);
    const auto dull = Changed(RandomHSV{0, 0.5, 0}, {200, 100, 100}, 1, 1, 3, p);
    saturations.push_back(((200 - dull[2]) / 100.0 - 0.5) / 1.0);
    const auto grey = Changed(RandomHSV{0, 0, 0.6}, {150, 150, 150}, 1, 1, 3, p);
    values.push_back((grey[0] / 150.0 - 0.4) / 1.2);
  }
  CheckUniform(turns);
  CheckUniform(saturations);
  CheckUniform(values);
}

TEST_CASE("A photometric distortion has torchvision's operations, chances, ranges and order") {
  using Kind = PixelOpKind;
  std::map<Kind, std::uint64_t> runs;
  std::map<std::uint32_t, std::uint64_t> orders;
  std::map<Kind, std::vector<double>> factors;
  const std::map<Kind, std::pair<double, double>> ranges = {{Kind::kBrightness, {0.875, 1.125}},
                                                            {Kind::kContrast, {0.5, 1.5}},
                                                            {Kind::kSaturation, {0.5, 1.5}},
                                                            {Kind::kHue, {-0.05, 0.05}}};
  std::uint64_t full = 0, second = 0;
  for (std::uint64_t p = 0; p < kTries; ++p) {
    RandomStream draws(1, Purpose::kPixelTransform, p);
    PixelOps ops;
    DrawStep(RandomPhotometricDistort(), {nullptr, 2, 2, 3}, draws, ops);
    std::vector<Kind> kinds;
    for (std::size_t i = 0; i < ops.count; ++i) {
      const PixelOp& op = ops.at[i];
      kinds.push_back(op.kind);
      ++runs[op.kind];
      if (op.kind == Kind::kExchange) {
        ++orders[op.number];
      } else {
        const auto [low, high] = ranges.at(op.kind);
        factors[op.kind].push_back((op.factor - low) / (high - low));
      }
    }
    // Without contrast, which comes second or after the hue, the order is fixed.
    const bool contrast_last =
        std::ranges::find(kinds, Kind::kContrast) > std::ranges::find(kinds, Kind::kHue);
    if (ops.count == 5) {
      ++full;
      second += contrast_last ? 0 : 1;
    }
    std::erase(kinds, Kind::kContrast);
    REQUIRE(std::ranges::is_sorted(kinds));
  }
  REQUIRE(runs.size() == 5);
  for (const auto& [kind, times] : runs)
    CheckShare(times, 0.5);
  for (const auto& [kind, values] : factors)
    CheckUniform(values);
  CheckShare(full, 1.0 / 32);
  CheckShare(second, 1.0 / 64);
  REQUIRE(orders.size() == 6);
  for (const auto& [order, times] : orders)
    CheckShare(times, 0.5 / 6);
}

TEST_CASE("A blur's sigma is uniform between its bounds") {
  // A bright line in 9 x 9 pixels. After the blur, its neighbours have exp(-1 / (2 sigma^2)) times
  // the line's value.
  std::vector<std::uint8_t> line(81, 0);
  for (std::size_t y = 0; y < 9; ++y)
    line[9 * y + 4] = 255;
  double sum = 0, squares = 0;
  for (std::uint64_t p = 0; p < kTries; ++p) {
    const auto out = Changed(GaussianBlur{9, 0.6, 1.4}, line, 9, 9, 1, p);
    const double sigma = std::sqrt(-0.5 / std::log(double(out[39]) / double(out[40])));
    REQUIRE((sigma > 0.58 && sigma < 1.45));
    sum += sigma;
    squares += (sigma - 1) * (sigma - 1);
  }
  CHECK(sum / kTries == Approx(1).margin(0.02));
  CHECK(squares / kTries == Approx(0.8 * 0.8 / 12).epsilon(0.06));
}

TEST_CASE("Every step that has a probability happens that often", "[no-tsan]") {
  // A picture that each step changes.
  constexpr std::uint32_t kSide = 20;
  std::vector<std::uint8_t> before;
  for (std::uint32_t i = 0; i < kSide * kSide; ++i)
    for (const std::uint32_t first : {60U, 20U, 110U})
      before.push_back(static_cast<std::uint8_t>(first + i * 7 % 97));
  const auto with = [](auto step) {
    step.probability = 0.3;
    return Transform(step);
  };
  for (const Transform& step :
       {with(ColorJitter{0.9, 0, 0.9}), with(GaussianBlur{3, 1, 1}), with(Solarize{100}),
        with(Posterize{2}), with(Equalize{}), with(AutoContrast{}), with(AdjustSharpness{3}),
        with(Invert{}), with(RandomGrayscale{}), with(RandomHSV{0.1, 0, 0})}) {
    std::uint64_t changed = 0;
    for (std::uint64_t p = 0; p < kTries; ++p)
      changed += Changed(step, before, kSide, kSide, 3, p) != before ? 1 : 0;
    CAPTURE(step.index());
    CheckShare(changed, 0.3);
  }
}

TEST_CASE("Erased rectangles have uniform areas, logarithms of ratios, positions and noise") {
  RandomErasing erasing;
  erasing.probability = 1;
  erasing.min_scale = 0.04;
  erasing.max_scale = 0.12;
  erasing.min_ratio = 0.5;
  erasing.max_ratio = 2;
  erasing.noise = true;
  std::vector<double> areas, ratios, tops, lefts;
  std::vector<double> noise;
  constexpr std::uint32_t kSide = 96;
  // Comparing with a second picture, erased at the same place, shows which pixels are erased.
  const std::vector<std::uint8_t> black(kSide * kSide, 0), white(kSide * kSide, 255);
  for (std::uint64_t p = 0; p < 1500; ++p) {
    const auto on_black = Changed(erasing, black, kSide, kSide, 1, p);
    const auto on_white = Changed(erasing, white, kSide, kSide, 1, p);
    std::uint32_t left = kSide, right = 0, top = kSide, bottom = 0;
    for (std::uint32_t y = 0; y < kSide; ++y) {
      for (std::uint32_t x = 0; x < kSide; ++x) {
        if (on_black[y * kSide + x] != on_white[y * kSide + x]) continue;
        left = std::min(left, x), right = std::max(right, x + 1);
        top = std::min(top, y), bottom = std::max(bottom, y + 1);
        if (p < 20) noise.push_back(on_black[y * kSide + x] / 256.0);
      }
    }
    const double width = right - left, height = bottom - top;
    areas.push_back((width * height / (kSide * kSide) - 0.04) / 0.08);
    ratios.push_back((std::log(height / width) + std::log(2.0)) / std::log(4.0));
    tops.push_back((top + 0.5) / (kSide - height + 1));
    lefts.push_back((left + 0.5) / (kSide - width + 1));
  }
  // Sides are rounded to whole pixels, so an area or a ratio may lie slightly outside its bounds:
  // it is moved back. One that lies far outside becomes 99, and fails.
  const auto clamp = [](std::vector<double> numbers) {
    for (double& number : numbers)
      number = number > -0.06 && number < 1.06 ? std::clamp(number, 0.0, 1.0) : 99;
    return numbers;
  };
  CheckUniform(clamp(areas));
  CheckUniform(clamp(ratios));
  CheckUniform(tops);
  CheckUniform(lefts);
  CheckUniform(noise);
}

TEST_CASE("RandAugment draws operations and signs evenly") {
  const std::vector<std::uint8_t> before = FormulaPicture(0, 3);
  std::map<std::vector<std::uint8_t>, double> chance;  // several operations may give one picture
  for (std::size_t k = 0; k < kAugmentKinds; ++k) {
    for (const double sign : {1.0, -1.0}) {
      const auto kind = static_cast<AugmentKind>(k);
      const double magnitude = AugmentMagnitude(kind, false, 9, 31, kFormulaWidth, kFormulaHeight);
      std::vector<std::uint8_t> values = before;
      RunAugment(kind, AugmentHasSign(kind) ? sign * magnitude : magnitude, false, {0, 0, 0},
                 {values.data(), kFormulaWidth, kFormulaHeight, 3});
      chance[values] += 1.0 / (2 * kAugmentKinds);
    }
  }
  std::map<std::vector<std::uint8_t>, std::uint64_t> counts;
  for (std::uint64_t p = 0; p < kTries; ++p)
    ++counts[Changed(RandAugment{1}, before, kFormulaWidth, kFormulaHeight, 3, p)];
  REQUIRE(counts.size() == chance.size());
  for (const auto& [values, probability] : chance)
    CheckShare(counts[values], probability);
}

TEST_CASE("The centre of a cut lies anywhere") {
  std::vector<double> xs, ys;
  for (std::uint64_t i = 0; i < kTries; ++i) {
    RandomStream draws(3, Purpose::kMix, i);
    // Cuts of a tenth of each side, so that the image's edges shorten few of them. Shortened ones
    // are left out.
    const CutRectangle cut = DrawCut(0.99, 200, 400, draws);
    if (cut.width == 20) xs.push_back((double(cut.left) + 0.5) / 181);
    if (cut.height == 40) ys.push_back((double(cut.top) + 0.5) / 361);
  }
  CHECK(xs.size() == Approx(0.905 * kTries).margin(100));
  CHECK(ys.size() == Approx(0.9025 * kTries).margin(100));
  CheckUniform(xs);
  CheckUniform(ys);
}

TEST_CASE("Batches are mixed as often as the probability says, by shares drawn from Beta") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 500));
  for (const bool cut : {false, true}) {
    LoaderOptions options = OptionsFor(2, 2);
    options.transform = {OneHot{}};
    if (cut) {
      options.transform.push_back(CutMix{1, 0.4});
    } else {
      options.transform.push_back(MixUp{1, 0.4});
    }
    Loader loader(dataset, options);
    std::vector<double> shares;
    std::uint64_t batches = 0;
    for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
      for (const Batch& batch : loader.Epoch(epoch)) {
        const auto labels = batch.Field<std::int32_t>("label");
        if (labels[0] == labels[1]) continue;  // mixing these two does not change the target
        ++batches;
        const auto targets = batch.Field<float>("target");
        const double own = targets[static_cast<std::size_t>(labels[0])];
        if (own != 1) shares.push_back(own);
      }
    }
    // Half of a cut's side is rounded down to whole pixels. So a cut of less than a quarter of each
    // side (2 of 8 pixels), which is less than 1/16 of the area, covers no pixel.
    const double expected = 0.4 * double(batches) * (cut ? 1 - 1.0 / 16 : 1);
    CHECK(double(shares.size()) == Approx(expected).margin(5 * std::sqrt(expected)));
    if (!cut) CheckUniform(shares);  // Beta(1, 1)
  }
}
