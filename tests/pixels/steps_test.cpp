// Steps that change pixels, compared with Pillow (steps_by_pillow.py) or a closed formula.
#include "format/pixels/steps/steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>

#include "format/random.h"
#include "tests/catch.h"
#include "tests/formula_pictures.h"

using namespace sluice;
using namespace sluice::test;

namespace {

struct PillowCase {
  const char* step;
  double parameter;
  int picture;
  std::uint32_t channels;
  std::uint32_t checksum;
};
constexpr PillowCase kPillow[] = {
#include "tests/pixels/steps_by_pillow.inc"
};

using Kind = ColourStep::Kind;

void RunSteps(const Pixels& pixels, const std::vector<ColourStep>& steps) {
  ColourSteps().Run(pixels, steps);
}

void RunStep(const std::string& step, double parameter, const Pixels& pixels) {
  if (step == "sharpness") return Sharpness().Run(pixels, static_cast<float>(parameter));
  const std::map<std::string, Kind> kinds = {
      {"brightness", Kind::kBrightness}, {"contrast", Kind::kContrast},
      {"saturation", Kind::kSaturation}, {"grey", Kind::kGrey},
      {"invert", Kind::kSolarize},       {"solarize", Kind::kSolarize},
      {"posterize", Kind::kPosterize},   {"equalize", Kind::kEqualize},
      {"autocontrast", Kind::kStretch}};
  const auto number = step == "invert" ? 0U : static_cast<unsigned>(parameter);
  RunSteps(pixels, {{kinds.at(step), static_cast<float>(parameter), number}});
}

struct OpenCvCase {
  double turns, saturation, value;
  std::uint8_t before[3], after[3];
};
constexpr OpenCvCase kOpenCv[] = {
#include "tests/pixels/hsv_by_opencv.inc"
};

// Channel n (5 red, 3 green, 1 blue) of a colour with this hue (0 to 6), saturation and value, by
// the formula with one expression for all channels.
double ChannelOf(double n, double hue, double saturation, double value) {
  const double k = std::fmod(n + hue, 6.0);
  return value - value * saturation * std::max(0.0, std::min({k, 4 - k, 1.0}));
}

// The colour after a change in HSV, in double precision.
std::array<double, 3> ChangedInHsv(const std::uint8_t* rgb, double turns, double more_saturation,
                                   double more_value) {
  const double r = rgb[0], g = rgb[1], b = rgb[2];
  const double value = std::max({r, g, b});
  const double range = value - std::min({r, g, b});
  // The colour's hue: a corner of the hexagon, plus the distance from that corner.
  double hue = 0;
  if (range > 0) {
    hue = value == r ? (g - b) / range : value == g ? 2 + (b - r) / range : 4 + (r - g) / range;
  }
  hue = std::fmod(hue + turns * 6 + 12, 6.0);
  const double saturation = std::min(1.0, more_saturation * (value > 0 ? range / value : 0));
  const double changed = std::min(255.0, more_value * value);
  return {ChannelOf(5, hue, saturation, changed), ChannelOf(3, hue, saturation, changed),
          ChannelOf(1, hue, saturation, changed)};
}

}  // namespace

TEST_CASE("Colour steps give Pillow's pixels to the byte") {
  std::map<std::string, int> cases;
  for (const PillowCase& expected : kPillow) {
    CAPTURE(expected.step, expected.parameter, expected.picture, expected.channels);
    std::vector<std::uint8_t> values = FormulaPicture(expected.picture, expected.channels);
    RunStep(expected.step, expected.parameter,
            {values.data(), kFormulaWidth, kFormulaHeight, expected.channels});
    CHECK(Crc32(values) == expected.checksum);
    ++cases[expected.step];
  }
  CHECK(cases.size() == 10);
}

TEST_CASE("Turning the hue agrees with its formula in double precision") {
  for (const double turns : {-0.5, -0.13, 0.0, 0.2, 0.37, 0.5}) {
    const std::vector<std::uint8_t> before = FormulaPicture(0, 3);
    std::vector<std::uint8_t> after = before;
    RunSteps({after.data(), kFormulaWidth, kFormulaHeight, 3},
             {{Kind::kHue, static_cast<float>(turns)}});
    for (std::size_t i = 0; i < before.size(); i += 3) {
      const std::array<double, 3> expected = ChangedInHsv(&before[i], turns, 1, 1);
      for (std::size_t c = 0; c < 3; ++c)
        REQUIRE(std::abs(after[i + c] - expected[c]) <= 0.52);
    }
  }
}

TEST_CASE("Changes in HSV agree with their formula in double precision") {
  RandomStream random(3, static_cast<Purpose>(999), 4);
  const std::vector<std::uint8_t> before = FormulaPicture(0, 3);
  std::vector<std::uint8_t> one_by_one = {0, 0, 0, 255, 255, 255, 1, 0, 0, 255, 254, 255, 9, 9, 9};
  one_by_one.insert(one_by_one.end(), before.begin(), before.end());
  const auto count = static_cast<std::uint32_t>(one_by_one.size() / 3);
  for (int round = 0; round < 60; ++round) {
    // The first rounds have the ends of each range.
    const auto between = [&](int bit, double low, double high) {
      return round < 8 ? ((round >> bit & 1) != 0 ? high : low)
                       : low + random.Uniform() * (high - low);
    };
    const auto turns = static_cast<float>(between(0, -0.5, 0.5));
    const auto saturation = static_cast<float>(between(1, 0, 2));
    const auto value = static_cast<float>(between(2, 0, 2));
    std::vector<std::uint8_t> after = one_by_one;
    RunSteps({after.data(), count, 1, 3}, {{Kind::kHsv, turns, 0, saturation, value}});
    for (std::size_t i = 0; i < after.size(); i += 3) {
      const std::array<double, 3> expected = ChangedInHsv(&one_by_one[i], turns, saturation, value);
      for (std::size_t c = 0; c < 3; ++c) {
        CAPTURE(turns, saturation, value, i, c, expected[c]);
        REQUIRE(std::abs(after[i + c] - expected[c]) <= 0.58);
      }
    }
  }
}

TEST_CASE("Changes in HSV are near to those by OpenCV's 8-bit HSV, which has 180 hues") {
  double sum = 0;
  for (const OpenCvCase& one : kOpenCv) {
    std::vector<std::uint8_t> pixel(one.before, one.before + 3);
    RunSteps({pixel.data(), 1, 1, 3},
             {{Kind::kHsv, static_cast<float>(one.turns), 0, static_cast<float>(one.saturation),
               static_cast<float>(one.value)}});
    for (std::size_t c = 0; c < 3; ++c) {
      CAPTURE(one.turns, one.saturation, one.value, int{one.before[0]}, int{one.before[1]},
              int{one.before[2]}, c);
      // One of the 180 hues is 8.5 levels of a fully saturated colour.
      REQUIRE(std::abs(pixel[c] - one.after[c]) <= 10);
      sum += std::abs(pixel[c] - one.after[c]);
    }
  }
  CHECK(sum / (3.0 * std::size(kOpenCv)) < 2);
}

TEST_CASE("Channels are exchanged by the order given") {
  for (const std::array<std::uint32_t, 3>& order :
       {std::array<std::uint32_t, 3>{0, 1, 2}, {2, 0, 1}, {1, 0, 2}, {2, 1, 0}}) {
    std::vector<std::uint8_t> values;
    for (std::uint8_t i = 0; i < 84; ++i)
      values.insert(values.end(),
                    {i, static_cast<std::uint8_t>(i + 85), static_cast<std::uint8_t>(i + 170)});
    std::vector<std::uint8_t> expected;
    for (std::size_t i = 0; i < values.size(); i += 3)
      for (const std::uint32_t c : order)
        expected.push_back(values[i + c]);
    RunSteps({values.data(), 84, 1, 3},
             {{Kind::kExchange, 0, order[0] | order[1] << 2 | order[2] << 4}});
    CHECK(values == expected);
  }
}

TEST_CASE("A turn of the hue by a third exchanges channels, and greys stay") {
  std::vector<std::uint8_t> values = {200, 30, 10, 77, 77, 77, 0, 0, 0};
  RunSteps({values.data(), 3, 1, 3}, {{Kind::kHue, 1.0F / 3}});
  CHECK(values == std::vector<std::uint8_t>{10, 200, 30, 77, 77, 77, 0, 0, 0});
}

namespace {

// Each pixel's weighted mean over a square window, in double precision. `weights`: up to the
// middle.
std::vector<double> BlurredExactly(const std::vector<std::uint8_t>& before, int width, int height,
                                   int channels, const std::vector<std::uint32_t>& weights) {
  const int reach = static_cast<int>(weights.size()) - 1;
  const auto mirrored = [](int i, int size) {
    return i < 0 ? -i : i >= size ? 2 * size - 2 - i : i;
  };
  const auto pass = [&](const std::vector<double>& in, bool down) {
    std::vector<double> out(in.size());
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        for (int d = -reach; d <= reach; ++d) {
          const int from_y = down ? mirrored(y + d, height) : y;
          const int from_x = down ? x : mirrored(x + d, width);
          const double weight = weights[static_cast<std::size_t>(reach - std::abs(d))] / 65536.0;
          for (int c = 0; c < channels; ++c)
            out[static_cast<std::size_t>((y * width + x) * channels + c)] +=
                weight * in[static_cast<std::size_t>((from_y * width + from_x) * channels + c)];
        }
      }
    }
    return out;
  };
  return pass(pass({before.begin(), before.end()}, true), false);
}

}  // namespace

TEST_CASE("A blur agrees with the sum over its window in double precision, and writes no more") {
  RandomStream random(4, static_cast<Purpose>(999), 2);
  Blur blur;
  for (std::uint32_t round = 0; round < 140; ++round) {
    const std::uint32_t channels = round % 2 == 0 ? 3 : 1;
    const auto reach = static_cast<std::uint32_t>(round % 9 == 0 ? 0 : random.Below(13));
    const std::uint32_t width =
        reach + 1 + (round < 128 ? round / 2 : static_cast<std::uint32_t>(random.Below(687)));
    const std::uint32_t height = reach + 1 + static_cast<std::uint32_t>(random.Below(6));
    // Weights of any size; those at the ends are often zeros.
    std::vector<std::uint32_t> weights(reach + 1, 0);
    std::uint32_t rest = 65536;
    for (std::uint32_t t = reach; t > reach / 3; --t) {
      weights[t - 1] = static_cast<std::uint32_t>(random.Below(rest / 2 + 1));
      rest -= 2 * weights[t - 1];
    }
    weights[reach] = rest;
    CAPTURE(round, width, height, channels, weights);
    const std::size_t bytes = std::size_t{width} * height * channels;
    std::vector<std::uint8_t> after(bytes + 64, 77);
    for (std::size_t i = 0; i < bytes; ++i)
      after[i] = static_cast<std::uint8_t>(random.Below(3) == 0 ? 255 * random.Below(2)
                                                                : random.Below(256));
    const std::vector<double> expected =
        BlurredExactly({after.begin(), after.begin() + static_cast<std::ptrdiff_t>(bytes)},
                       int(width), int(height), int(channels), weights);
    blur.Run({after.data(), width, height, channels}, weights);
    for (std::size_t i = 0; i < bytes; ++i)
      REQUIRE(std::abs(after[i] - expected[i]) < 0.51);
    REQUIRE(std::count(after.begin() + static_cast<std::ptrdiff_t>(bytes), after.end(), 77) == 64);
  }
}

TEST_CASE("Steps that need several pixels keep a single one, and colour steps keep grey pictures") {
  std::vector<std::uint8_t> one = {9, 8, 7};
  const Pixels pixel{one.data(), 1, 1, 3};
  RunSteps(pixel, {{Kind::kEqualize}, {Kind::kStretch}});
  Sharpness().Run(pixel, 0);
  CHECK(one == std::vector<std::uint8_t>{9, 8, 7});
  std::vector<std::uint8_t> grey = {1, 200};
  RunSteps({grey.data(), 2, 1, 1}, {{Kind::kSaturation, 0},
                                    {Kind::kHue, 0.4F},
                                    {Kind::kHsv, 0.1F, 0, 0.5F, 0.5F},
                                    {Kind::kExchange, 0, 2},
                                    {Kind::kGrey}});
  CHECK(grey == std::vector<std::uint8_t>{1, 200});
}

namespace {

// Some colour steps, drawn at random.
std::vector<ColourStep> RandomSteps(RandomStream& random) {
  std::vector<ColourStep> steps(1 + random.Below(6));
  for (ColourStep& step : steps) {
    step.kind = static_cast<Kind>(random.Below(11));
    const bool turns = step.kind == Kind::kHue || step.kind == Kind::kHsv;
    step.factor = static_cast<float>(turns ? random.Uniform() - 0.5 : 2.2 * random.Uniform());
    step.number = static_cast<std::uint32_t>(step.kind == Kind::kPosterize ? 1 + random.Below(8)
                                                                           : random.Below(257));
    if (step.kind == Kind::kExchange) step.number = random.Below(2) == 0 ? 0b010010 : 0b100001;
    step.saturation = static_cast<float>(2 * random.Uniform());
    step.value = static_cast<float>(2 * random.Uniform());
  }
  return steps;
}

}  // namespace

TEST_CASE("Colour steps that run together give what they give one by one, and nothing beside it") {
  RandomStream random(9, static_cast<Purpose>(999), 2);
  ColourSteps together;
  for (std::uint32_t round = 0; round < 400; ++round) {
    const std::uint32_t channels = round % 2 == 0 ? 3 : 1;
    const std::uint32_t width = round < 130 ? 1 + round : 1 + std::uint32_t(random.Below(700));
    const std::uint32_t height = 1 + std::uint32_t(random.Below(round % 16 == 0 ? 60 : 8));
    const std::vector<ColourStep> steps = RandomSteps(random);
    CAPTURE(round, width, height, channels, steps.size(), int(steps[0].kind));
    const std::size_t bytes = std::size_t{width} * height * channels;
    std::vector<std::uint8_t> first(bytes + 64, 77);
    for (std::size_t i = 0; i < bytes; ++i)
      first[i] = static_cast<std::uint8_t>(40 + 150 * i / bytes + random.Below(50));
    std::vector<std::uint8_t> second = first;
    together.Run({first.data(), width, height, channels}, steps);
    for (const ColourStep& step : steps)
      RunSteps({second.data(), width, height, channels}, {step});
    REQUIRE(first == second);
    REQUIRE(std::count(first.begin() + static_cast<std::ptrdiff_t>(bytes), first.end(), 77) == 64);
  }
}

TEST_CASE("Warps agree with double precision for any map, and write nothing beside the picture") {
  RandomStream random(6, static_cast<Purpose>(999), 2);
  const auto side = [&](std::uint64_t most) {
    return 1 + static_cast<std::uint32_t>(random.Below(most));
  };
  for (std::uint32_t round = 0; round < 300; ++round) {
    const std::uint32_t channels = round % 3 == 0 ? 1 : 3;
    const std::uint32_t in_width = side(round % 10 == 0 ? 700 : 70), in_height = side(40);
    const std::uint32_t width = round < 128 ? 1 + round : side(300), height = side(12);
    const auto between = [&](double low, double high) {
      return low + (high - low) * random.Uniform();
    };
    Projection map(AffineMap{between(-2, 2), between(-2, 2), between(-20, 60), between(-2, 2),
                             between(-2, 2), between(-20, 60)});
    if (round % 5 == 0)  // shears
      map = AffineMap{1, between(-1, 1), between(-9, 9), 0, 1, between(-9, 9)};
    if (round % 7 == 0) map = AffineMap{1, 0, double(int(random.Below(9)) - 4), 0, 1, 2};
    if (round % 4 == 1) {  // perspective
      map.wx = between(-0.02, 0.02);
      map.wy = between(-0.05, 0.05);
      map.w0 = between(0.3, 1.5);
    }
    CAPTURE(round, channels, in_width, in_height, width, height);
    std::vector<std::uint8_t> values(std::size_t{in_width} * in_height * channels);
    for (std::uint8_t& value : values)
      value = static_cast<std::uint8_t>(random.Word());
    const std::uint8_t fill[3] = {1, 2, 3};
    const std::size_t bytes = std::size_t{width} * height * channels;
    std::vector<std::uint8_t> nearest(bytes + 64, 77), mixed = nearest;
    const Pixels in{values.data(), in_width, in_height, channels};
    WarpNearest(in, map, fill, {nearest.data(), width, height, channels});
    WarpBilinear(in, map, fill, {mixed.data(), width, height, channels});
    for (std::uint32_t i = 0; i < bytes; ++i) {
      const double column = i / channels % width + 0.5, line = i / channels / width + 0.5;
      const double x = map.X(column, line), y = map.Y(column, line);
      // Near an edge between pixels, counting in 2^-16 decides.
      const auto off = [](double place) { return std::abs(place - std::round(place)) > 0.01; };
      const bool inside =
          map.W(column, line) > 0 && x >= 0 && y >= 0 && x < in_width && y < in_height;
      const auto at = [&](double left, double top) -> double {
        const auto clamp = [](double v, std::uint32_t size) {
          return static_cast<std::size_t>(std::min(std::max(v, 0.0), size - 1.0));
        };
        return values[(clamp(top, in_height) * in_width + clamp(left, in_width)) * channels +
                      i % channels];
      };
      if (std::abs(map.W(column, line)) < 1e-3) continue;  // almost at the horizon
      if (off(x) && off(y)) {
        REQUIRE(int{nearest[i]} ==
                (inside ? int(at(std::floor(x), std::floor(y))) : int{fill[i % channels]}));
      }
      if (!off(x) || !off(y)) continue;
      const double left = std::floor(x - 0.5), top = std::floor(y - 0.5);
      const double a = x - 0.5 - left, b = y - 0.5 - top;
      const double exact = (1 - b) * ((1 - a) * at(left, top) + a * at(left + 1, top)) +
                           b * ((1 - a) * at(left, top + 1) + a * at(left + 1, top + 1));
      REQUIRE(std::abs(mixed[i] - (inside ? exact : fill[i % channels])) < 0.53);
    }
    for (const auto& out : {nearest, mixed})
      REQUIRE(std::count(out.begin() + std::ptrdiff_t(bytes), out.end(), 77) == 64);
  }
}
