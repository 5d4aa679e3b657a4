// Steps that change pixels, as a pipeline runs them: draws, order, output.
#include "reader/transform/pixel_program.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include <sluice/error.h>

#include "format/random.h"
#include "reader/transform/geometry.h"
#include "reader/transform/number_table.h"
#include "tests/catch.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// Runs the steps on the pixels and returns the result.
std::vector<std::uint8_t> RunOn(const Pipeline& steps, std::vector<std::uint8_t> values,
                                std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                                std::uint64_t position = 0) {
  const PixelProgram program(steps);
  program.CheckSize(width, height, channels);
  StepScratch scratch;
  program.Run({values.data(), width, height, channels}, DrawSeed(1, 2), position, scratch);
  return values;
}

struct Moments {
  double mean = 0, deviation = 0, low = 1e9, high = -1e9;
};
Moments MomentsOf(const std::vector<double>& values) {
  Moments m;
  for (const double v : values) {
    m.mean += v / double(values.size());
    m.low = std::min(m.low, v);
    m.high = std::max(m.high, v);
  }
  for (const double v : values)
    m.deviation += (v - m.mean) * (v - m.mean) / double(values.size());
  m.deviation = std::sqrt(m.deviation);
  return m;
}

std::string Refusal(const Pipeline& steps) {
  return ErrorText(
      [&] {
        const PixelProgram program(steps);
        program.CheckSize(20, 10, 3);
      },
      ErrorCode::kInvalidArgument);
}

// The batches of epoch 1.
std::vector<PlayedBatch> PlayJpegs(const Dataset& dataset, LoaderOptions options) {
  Loader loader(dataset, std::move(options));
  return PlayBatches(loader, 1);
}

}  // namespace

TEST_CASE("A jitter's factors are uniform about 1, and its hue about 0") {
  std::vector<double> factors, hues;
  for (std::uint64_t p = 0; p < 4000; ++p) {
    factors.push_back(RunOn({ColorJitter{0.4}}, {100}, 1, 1, 1, p)[0] / 100.0);
    // Red turned by up to a sixth either way: green grows with turns above 0, blue with the others.
    const auto red = RunOn({ColorJitter{0, 0, 0, 1.0 / 6}}, {255, 0, 0}, 1, 1, 3, p);
    hues.push_back((red[1] - red[2]) / 255.0 / 6);
    REQUIRE(red[0] == 255);
  }
  // Uniform on an interval of width w: deviation w / sqrt(12).
  const Moments factor = MomentsOf(factors);
  CHECK(factor.mean == Approx(1.0).margin(0.015));
  CHECK(factor.deviation == Approx(0.8 / std::sqrt(12.0)).epsilon(0.04));
  CHECK((factor.low >= 0.59 && factor.low < 0.61 && factor.high <= 1.4 && factor.high > 1.38));
  const Moments hue = MomentsOf(hues);
  CHECK(hue.mean == Approx(0.0).margin(0.008));
  CHECK(hue.deviation == Approx(1.0 / 3 / std::sqrt(12.0)).epsilon(0.04));
}

TEST_CASE("A jitter applies its parts in either order equally often") {
  // Brightness b and contrast c, both 0 to 2, on black and white. With b > 1 and c < 1: if
  // brightness comes first, it leaves both pixels as they are, and contrast then moves both towards
  // their mean, so that their sum stays 255; if contrast comes first, it makes both grey, and
  // brightness then raises their sum. With other b and c, black stays black, or the sum is 255 b.
  int brightness_first = 0;
  int contrast_first = 0;
  for (std::uint64_t p = 0; p < 4000; ++p) {
    const auto out = RunOn({ColorJitter{1, 1}}, {0, 255}, 2, 1, 1, p);
    const int sum = out[0] + out[1];
    contrast_first += sum > 258 ? 1 : 0;
    brightness_first += out[0] > 3 && std::abs(sum - 255) <= 1 ? 1 : 0;
  }
  CHECK(brightness_first == Approx(4000 / 8).margin(90));
  CHECK(contrast_first == Approx(4000 / 8).margin(90));
}

TEST_CASE("A jitter's four parts come in each of their 24 orders equally often") {
  std::map<std::vector<int>, int> orders;
  for (std::uint64_t p = 0; p < 12'000; ++p) {
    RandomStream draws(1, Purpose::kPixelTransform, p);
    PixelOps ops;
    DrawStep(ColorJitter{.1, .1, .1, .1}, {nullptr, 2, 2, 3}, draws, ops);
    std::vector<int> order;
    for (std::size_t i = 0; i < ops.count; ++i)
      order.push_back(static_cast<int>(ops.at[i].kind));
    ++orders[order];
  }
  CHECK(orders.size() == 24);
  for (const auto& [order, times] : orders) {
    CHECK(std::set<int>(order.begin(), order.end()).size() == 4);
    CHECK(times == Approx(500).margin(110));  // five standard deviations
  }
}

TEST_CASE("Steps are applied as often as their probability says") {
  for (const double probability : {0.0, 0.3, 1.0}) {
    int inverted = 0, grey = 0, erased = 0;
    RandomErasing erasing;
    erasing.probability = probability;
    erasing.min_scale = erasing.max_scale = 0.25;
    erasing.min_ratio = erasing.max_ratio = 1;
    for (std::uint64_t p = 0; p < 3000; ++p) {
      inverted += RunOn({Invert{probability}}, {0}, 1, 1, 1, p)[0] == 255 ? 1 : 0;
      grey += RunOn({RandomGrayscale{probability}}, {9, 0, 0}, 1, 1, 3, p)[0] != 9 ? 1 : 0;
      const auto out = RunOn({erasing}, std::vector<std::uint8_t>(16, 7), 4, 4, 1, p);
      const auto zeros = std::count(out.begin(), out.end(), 0);
      REQUIRE((zeros == 0 || zeros == 4));  // 2 x 2 pixels
      erased += zeros > 0 ? 1 : 0;
    }
    CHECK(inverted == Approx(3000 * probability).margin(100));
    CHECK(grey == Approx(3000 * probability).margin(100));
    CHECK(erased == Approx(3000 * probability).margin(100));
  }
}

TEST_CASE(
    "Erased rectangles have the stated areas and ratios, lie anywhere, and hold the stated fill") {
  RandomErasing erasing;
  erasing.probability = 1;
  erasing.min_scale = 0.05;
  erasing.max_scale = 0.15;
  erasing.value = {1, 2, 3};
  std::vector<double> areas, ratios, lefts;
  for (std::uint64_t p = 0; p < 1000; ++p) {
    const auto out = RunOn({erasing}, std::vector<std::uint8_t>(100 * 80 * 3, 9), 100, 80, 3, p);
    std::size_t left = 100, right = 0, top = 80, bottom = 0, count = 0;
    for (std::size_t y = 0; y < 80; ++y) {
      for (std::size_t x = 0; x < 100; ++x) {
        const std::uint8_t* const at = &out[(y * 100 + x) * 3];
        if (at[0] == 9) continue;
        REQUIRE((at[0] == 1 && at[1] == 2 && at[2] == 3));
        left = std::min(left, x), right = std::max(right, x + 1);
        top = std::min(top, y), bottom = std::max(bottom, y + 1);
        ++count;
      }
    }
    REQUIRE(count == (right - left) * (bottom - top));
    areas.push_back(double(count) / 8000);
    ratios.push_back(std::log(double(bottom - top) / double(right - left)));
    lefts.push_back(double(left) / double(100 - (right - left)));
  }
  CHECK(MomentsOf(areas).mean == Approx(0.1).margin(0.004));
  CHECK((MomentsOf(areas).low > 0.045 && MomentsOf(areas).high < 0.155));
  CHECK(MomentsOf(ratios).mean == Approx(0.5 * (std::log(0.3) + std::log(3.3))).margin(0.08));
  CHECK(MomentsOf(lefts).mean == Approx(0.5).margin(0.04));
  CHECK((MomentsOf(lefts).low < 0.02 && MomentsOf(lefts).high > 0.98));
  erasing.noise = true;
  const auto noise = RunOn({erasing}, std::vector<std::uint8_t>(100 * 80, 9), 100, 80, 1, 3);
  CHECK(std::set<std::uint8_t>(noise.begin(), noise.end()).size() > 100);
}

TEST_CASE("A blur's weights are those of its sigma") {
  // A single bright pixel in the middle of 9 x 9, sigma 1: the centre of the kernel is the square
  // of 1 / (1 + 2 exp(-1/2) + 2 exp(-2)).
  std::vector<std::uint8_t> values(81, 0);
  values[40] = 255;
  const auto out = RunOn({GaussianBlur{5, 1, 1}}, values, 9, 9, 1);
  const double sum = 1 + 2 * std::exp(-0.5) + 2 * std::exp(-2.0);
  CHECK(out[40] == Approx(255 / (sum * sum)).margin(0.51));
  CHECK(out[41] == Approx(255 * std::exp(-0.5) / (sum * sum)).margin(0.51));
  CHECK(out[22] == Approx(255 * std::exp(-2.0) / (sum * sum)).margin(0.51));
  CHECK(out[36] == 0);
}

TEST_CASE("Adding a step does not change other steps' draws, and a repeated step draws again") {
  const std::vector<std::uint8_t> values = {100, 120, 140, 90, 20, 250};
  const auto jitter = RunOn({ColorJitter{0.5}}, values, 2, 1, 3, 7);
  CHECK(RunOn({Invert{0}, ColorJitter{0.5}, RandomGrayscale{0}}, values, 2, 1, 3, 7) == jitter);
  CHECK(RunOn({ColorJitter{0.5}, ColorJitter{0.5}}, values, 2, 1, 3, 7) !=
        RunOn({ColorJitter{0.5}}, jitter, 2, 1, 3, 7));
  CHECK(RunOn({ColorJitter{0.5}}, values, 2, 1, 3, 8) != jitter);
}

TEST_CASE("Numbers become the nearest half-precision numbers, and ties go to even") {
  const std::pair<float, int> known[] = {{0.0F, 0x0000},
                                         {-0.0F, 0x8000},
                                         {1.0F, 0x3C00},
                                         {-2.0F, 0xC000},
                                         {0.1F, 0x2E66},
                                         {65504.0F, 0x7BFF},
                                         {65519.9F, 0x7BFF},
                                         {65520.0F, 0x7C00},
                                         {1e9F, 0x7C00},
                                         {6.1035156e-5F, 0x0400},
                                         {5.9604645e-8F, 0x0001},
                                         {2.9802322e-8F, 0x0000},
                                         {2.99e-8F, 0x0001},
                                         {6.0975552e-5F, 0x03FF},
                                         {2049.0F, 0x6800},
                                         {2051.0F, 0x6802},
                                         {std::numeric_limits<float>::infinity(), 0x7C00}};
  for (const auto& [value, bits] : known) {
    CAPTURE(value);
    CHECK(HalfOf(value) == bits);
  }
  CHECK((HalfOf(std::nanf("")) & 0x7FFF) > 0x7C00);
}

TEST_CASE("Normalised batches hold the numbers of the formula, in either layout and type") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 6));
  LoaderOptions options = OptionsFor(6, 2);
  options.transform = {Resize(20, 10)};
  options.output.layout = Layout::kNHWC;
  const std::vector<std::uint8_t> bytes = PlayJpegs(dataset, options)[0].pixels;
  options.transform.push_back(Normalize{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}});
  const double mean[3] = {0.485, 0.456, 0.406}, deviation[3] = {0.229, 0.224, 0.225};
  for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
    options.output.layout = layout;
    std::get<Normalize>(options.transform.back()).type = FloatType::kFloat32;
    Loader loader(dataset, options);
    std::get<Normalize>(options.transform.back()).type = FloatType::kFloat16;
    Loader halves(dataset, options);
    std::get<Normalize>(options.transform.back()).type = FloatType::kBFloat16;
    Loader bfloats(dataset, options);
    const Batch batch = *loader.Epoch(1).begin();
    const Batch half = *halves.Epoch(1).begin();
    const Batch bfloat = *bfloats.Epoch(1).begin();
    REQUIRE(batch.image().type == ElementType::kFloat32);
    REQUIRE(batch.image().sample_bytes() == 20 * 10 * 3 * 4);
    REQUIRE(half.image().type == ElementType::kFloat16);
    REQUIRE(half.image().sample_bytes() == 20 * 10 * 3 * 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::size_t c = i % 3, pixel = i / 3 % 200, sample = i / 600;
      const std::size_t at = layout == Layout::kNHWC ? i : sample * 600 + c * 200 + pixel;
      const double expected = (bytes[i] / 255.0 - mean[c]) / deviation[c];
      REQUIRE(batch.image().floats()[at] == Approx(expected).margin(1e-6));
      const auto bits = reinterpret_cast<const std::uint16_t*>(half.image().data)[at];
      REQUIRE(bits == HalfOf(batch.image().floats()[at]));
      const auto upper = reinterpret_cast<const std::uint16_t*>(bfloat.image().data)[at];
      REQUIRE(upper == BFloatOf(batch.image().floats()[at]));
    }
  }
}

TEST_CASE("Images of two or four channels are cropped, resized and mirrored, and not converted") {
  const TemporaryFolder folder;
  for (const std::uint8_t channels : {std::uint8_t{2}, std::uint8_t{4}}) {
    const std::filesystem::path path = folder / std::to_string(channels);
    DatasetWriter writer(path, {{Field::Image()}});
    SampleBuilder sample = writer.NewSample("a");
    std::vector<std::uint8_t> pixels;
    for (std::uint32_t i = 0; i < 6U * channels; ++i)
      pixels.push_back(static_cast<std::uint8_t>(i));
    sample.SetPixels("image", 3, 2, channels, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    writer.Add(sample);
    writer.Finish();
    const Dataset dataset = Dataset::Open(path);
    LoaderOptions options = OptionsFor(1, 1);
    options.transform = {CenterCrop(1, 2), HorizontalFlip{1}};
    const std::vector<std::uint8_t> middle = PlayJpegs(dataset, options)[0].pixels;
    REQUIRE(middle.size() == 2U * channels);
    for (std::uint32_t i = 0; i < 2U * channels; ++i)
      CHECK(middle[i] == pixels[(i < channels ? channels : 3U * channels) + i]);
    const auto refusal = [&](const Pipeline& steps, unsigned asked) {
      options.transform = steps;
      options.output.channels = asked;
      return ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument);
    };
    const std::string have = "have " + std::to_string(channels);
    CHECK_THAT(refusal({RandomErasing{}}, 0), ContainsSubstring(have));
    CHECK_THAT(refusal({RandomAffine(5)}, 0), ContainsSubstring(have));
    CHECK_THAT(refusal({}, 3), ContainsSubstring(have) && ContainsSubstring("at 0"));
    CHECK_THAT(refusal({}, 1), ContainsSubstring(have));
  }
}

TEST_CASE("Deviations close to zero make infinities, in 16 bits as in 32") {
  const std::vector<std::uint8_t> values = {0, 1, 127, 128, 200, 255};
  Normalize normalize{{0.5F}, {1e-40F}};
  std::vector<float> floats(values.size());
  std::vector<std::uint16_t> halves(values.size());
  std::vector<std::uint8_t> data = values;
  const Pixels pixels{data.data(), 2, 3, 1};
  NumberTable(normalize).Write(pixels, PixelOrder::kInterleaved,
                               reinterpret_cast<std::uint8_t*>(floats.data()));
  for (const FloatType type : {FloatType::kFloat16, FloatType::kBFloat16}) {
    normalize.type = type;
    NumberTable(normalize).Write(pixels, PixelOrder::kPlanar,
                                 reinterpret_cast<std::uint8_t*>(halves.data()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float made = type == FloatType::kFloat16 ? OfHalf(halves[i]) : OfBFloat(halves[i]);
      if (std::isnan(floats[i])) {
        CHECK(std::isnan(made));
      } else {
        CHECK(made == floats[i]);
      }
    }
  }
}

TEST_CASE("Changed pixels are the same for any threads, in either layout and after a resume") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 40));
  LoaderOptions options = OptionsFor(8, 1);
  options.transform = {RandomResizedCrop(32), HorizontalFlip(), ColorJitter{.4, .4, .4, .1},
                       RandomGrayscale{0.2},  GaussianBlur{5},  RandomErasing{}};
  const std::vector<PlayedBatch> alone = PlayJpegs(dataset, options);
  options.threads = 4;
  CHECK(PlayJpegs(dataset, options) == alone);
  Loader loader(dataset, options);
  CHECK(PlayBatches(loader, 1, 2) == std::vector<PlayedBatch>(alone.begin(), alone.begin() + 2));
  options.resume_from = loader.State();
  CHECK(PlayJpegs(dataset, options) == std::vector<PlayedBatch>(alone.begin() + 2, alone.end()));
  options.resume_from.reset();
  options.output.layout = Layout::kNCHW;
  const std::vector<PlayedBatch> planar = PlayJpegs(dataset, options);
  for (std::size_t i = 0; i < planar[0].pixels.size(); ++i) {
    const std::size_t sample = i / 3072, c = i / 1024 % 3, pixel = i % 1024;
    REQUIRE(planar[0].pixels[i] == alone[0].pixels[sample * 3072 + pixel * 3 + c]);
  }
  // The geometry equals that of a pipeline without steps that change pixels.
  options.output.layout = Layout::kNHWC;
  options.transform = {RandomResizedCrop(32), HorizontalFlip(), Invert{}};
  const std::vector<PlayedBatch> inverted = PlayJpegs(dataset, options);
  options.transform.pop_back();
  const std::vector<PlayedBatch> plain = PlayJpegs(dataset, options);
  for (std::size_t i = 0; i < plain[0].pixels.size(); ++i)
    REQUIRE(plain[0].pixels[i] + inverted[0].pixels[i] == 255);
}

TEST_CASE("Normalize with numbers for pixels of 0 to 255 is refused, naming those for 0 to 1") {
  // FFCV's numbers for ImageNet; divided by 255, they are torchvision's.
  CHECK_THAT(
      Refusal({Normalize{{123.675F, 116.28F, 103.53F}, {58.395F, 57.12F, 57.375F}}}),
      ContainsSubstring("divide them by 255: mean {0.485, 0.456, 0.406} and deviation {0.229, "
                        "0.224, 0.225}"));
  CHECK_THAT(Refusal({Normalize{{123.675F, 116.28F, 103.53F}}}),
             ContainsSubstring("divide them by 255: mean {0.485, 0.456, 0.406}") &&
                 !ContainsSubstring("} and deviation {0.0"));
  CHECK_THAT(Refusal({Normalize{{0}, {255}}}),
             ContainsSubstring("divide them by 255: deviation {1}"));
  // Numbers that fit neither scale.
  for (const Normalize& wrong : {Normalize{{-0.5F}}, Normalize{{300}}, Normalize{{0.5F}, {256}}}) {
    CHECK_THAT(Refusal({wrong}),
               ContainsSubstring("means from 0 to 1, and deviations above 0 and up to 1") &&
                   !ContainsSubstring("divide them by"));
  }
  CHECK_NOTHROW(PixelProgram({Normalize{{0, 1, 0.5F}, {1, 1.0F / 255, 0.5F}}}));
}

TEST_CASE("Steps out of range, out of order, or on unsuitable images are refused") {
  RandomErasing scale;
  scale.max_scale = 2;
  Normalize two;
  two.mean = {0, 0};
  Normalize none;
  none.deviation = {0};
  for (const Pipeline& bad :
       {Pipeline{ColorJitter{-1}}, Pipeline{ColorJitter{0, 0, 0, 0.6}}, Pipeline{GaussianBlur{4}},
        Pipeline{GaussianBlur{5, 0}}, Pipeline{Solarize{300}}, Pipeline{Posterize{0}},
        Pipeline{Invert{1.5}}, Pipeline{scale}, Pipeline{two}, Pipeline{none},
        Pipeline{AdjustSharpness{-1}}, Pipeline{ColorJitter{std::nan("")}}}) {
    CHECK_THAT(Refusal(bad), ContainsSubstring("transform: "));
  }
  CHECK_THAT(Refusal({Invert{}, HorizontalFlip{}}),
             ContainsSubstring("put HorizontalFlip before Invert"));
  CHECK_THAT(Refusal({Normalize{}, Invert{}}), ContainsSubstring("can follow Normalize"));
  CHECK_THAT(Refusal({GaussianBlur{23}}), ContainsSubstring("20x10"));
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "d", {{Field::Image()}});
  SampleBuilder sample = writer.NewSample("a");
  const std::vector<std::uint8_t> pixels(8);
  sample.SetPixels("image", 2, 2, 1, PixelType::kUint16, std::as_bytes(std::span(pixels)));
  writer.Add(sample);
  writer.Finish();
  LoaderOptions options = OptionsFor(1, 1);
  options.transform = {Invert{}};
  CHECK_THAT(ErrorText([&] { Loader loader(Dataset::Open(folder / "d"), options); },
                       ErrorCode::kInvalidArgument),
             ContainsSubstring("is for 8-bit pictures, and not for field \"image\""));
}

TEST_CASE("Pixels that steps have changed become planes, and nothing beside them is written") {
  const PixelProgram program(Pipeline{Invert{}});
  for (const std::uint32_t channels : {1U, 3U}) {
    for (const std::uint32_t width : {1U, 31U, 32U, 65U, 511U}) {
      const std::size_t count = std::size_t{width} * 3;
      std::vector<std::uint8_t> values(count * channels), planes(count * channels + 64, 77);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
      program.Write({values.data(), width, 3, channels}, PixelOrder::kPlanar, planes.data());
      for (std::size_t i = 0; i < values.size(); ++i)
        REQUIRE(planes[i % channels * count + i / channels] == values[i]);
      REQUIRE(std::count(planes.end() - 64, planes.end(), 77) == 64);
    }
  }
}

TEST_CASE("Erasing fills its rectangle with the colour, and nothing else") {
  for (const std::uint32_t channels : {1U, 3U}) {
    PixelOp erase;
    erase.kind = PixelOpKind::kErase;
    erase.left = 3, erase.top = 2, erase.width = 5, erase.height = 4;
    for (std::uint8_t c = 0; c < 3; ++c)
      erase.value[c] = static_cast<std::uint8_t>(200 + c);
    std::vector<std::uint8_t> values(9 * 7 * channels, 50);
    StepScratch scratch;
    RunPixelOps(&erase, 1, {values.data(), 9, 7, channels}, scratch);
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      const std::uint32_t x = i / channels % 9, y = i / channels / 9;
      const bool inside = x >= 3 && x < 8 && y >= 2 && y < 6;
      REQUIRE(values[i] == (inside ? 200 + i % channels : 50));
    }
  }
}
