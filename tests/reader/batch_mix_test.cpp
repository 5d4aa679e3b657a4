// One-hot labels, and batches whose samples are mixed.
#include "reader/transform/batch_mix.h"

#include <cmath>

#include "format/random.h"
#include "reader/transform/number_table.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

RandomStream StreamOf(std::uint64_t number) {
  return {7, Purpose::kMix, number};
}

// Pixels (the first of each sample) and targets of an epoch.
struct Mixed {
  std::vector<std::vector<double>> pixels;  // by batch
  std::vector<std::vector<float>> targets;  // by batch, 10 per sample
  std::vector<std::vector<std::uint64_t>> samples;
};
Mixed PlayMixed(const Dataset& dataset, const Pipeline& steps, unsigned threads) {
  LoaderOptions options = OptionsFor(8, threads);
  options.transform = steps;
  Loader loader(dataset, options);
  Mixed mixed;
  for (const Batch& batch : loader.Epoch(1)) {
    const ImageBatch& image = batch.image();
    std::vector<double>& pixels = mixed.pixels.emplace_back();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::uint8_t* const at = image.data + row * image.sample_bytes();
      pixels.push_back(image.type == ElementType::kFloat32 ? double(image.floats()[row * 192])
                                                           : double(*at));
    }
    const auto targets = batch.Field<float>("target");
    mixed.targets.emplace_back(targets.begin(), targets.end());
    mixed.samples.emplace_back(batch.samples().begin(), batch.samples().end());
  }
  return mixed;
}

}  // namespace

TEST_CASE("Shares drawn from Beta(a, a) have its mean and variance") {
  for (const double alpha : {0.01, 0.2, 0.5, 1.0, 2.0, 8.0, 100.0}) {
    CAPTURE(alpha);
    double sum = 0, squares = 0;
    constexpr int kDraws = 8000;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      RandomStream draws = StreamOf(i);
      const double x = DrawBeta(alpha, draws);
      REQUIRE((x >= 0 && x <= 1));
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
    }
    CHECK(sum / kDraws == Approx(0.5).margin(0.02));
    CHECK(squares / kDraws == Approx(1 / (4 * (2 * alpha + 1))).epsilon(0.06));
  }
}

TEST_CASE("With an alpha close to 0, a share is 0 or 1") {
  int ones = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    RandomStream draws = StreamOf(i);
    const double share = DrawBeta(5e-324, draws);
    REQUIRE((share == 0 || share == 1));
    ones += share == 1 ? 1 : 0;
  }
  CHECK(ones == Approx(200).margin(60));
}

TEST_CASE(
    "A cut lies inside the image and covers all but the image's share unless an edge cuts it off") {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    RandomStream draws = StreamOf(i);
    const CutRectangle cut = DrawCut(0.75, 40, 20, draws);
    REQUIRE((cut.left + cut.width <= 40 && cut.top + cut.height <= 20));
    REQUIRE((cut.width <= 20 && cut.height <= 10));  // half of each side: a quarter of the area
    if (cut.left > 0 && cut.left + cut.width < 40) REQUIRE(cut.width == 20);
  }
  RandomStream draws = StreamOf(1);
  CHECK(DrawCut(1, 40, 20, draws).width == 0);
}

TEST_CASE(
    "Each image is mixed with the one before it, and the first with the last, in every type") {
  std::vector<std::uint8_t> saved;
  ImageBatch shape;
  shape.samples = 3, shape.height = 1, shape.width = 2, shape.channels = 1;
  std::vector<std::uint8_t> bytes = {0, 100, 200, 100, 40, 255};
  MixImages(bytes.data(), shape, {0.75, {}}, saved);
  CHECK(bytes == std::vector<std::uint8_t>{10, 139, 150, 100, 80, 216});
  shape.type = ElementType::kFloat32;
  std::vector<float> floats = {0, 1, 2, 3, 4, 5};
  MixImages(reinterpret_cast<std::uint8_t*>(floats.data()), shape, {0.5, {}}, saved);
  CHECK(floats == std::vector<float>{2, 3, 1, 2, 3, 4});
  shape.type = ElementType::kFloat16;
  std::vector<std::uint16_t> halves;
  for (const float value : {0.F, 1.F, 2.F, 3.F, 4.F, 5.F})
    halves.push_back(HalfOf(value));
  MixImages(reinterpret_cast<std::uint8_t*>(halves.data()), shape, {0.5, {}}, saved);
  CHECK(OfHalf(halves[0]) == 2);
  CHECK(OfHalf(halves[5]) == 4);
  shape.samples = 1;
  MixImages(bytes.data(), shape, {0.5, {}}, saved);
  CHECK(bytes[0] == 10);  // a single image stays as it is
}

TEST_CASE("Every half-precision number except NaN survives conversion to float and back") {
  for (unsigned half = 0; half < 65536; ++half) {
    const float value = OfHalf(static_cast<std::uint16_t>(half));
    if (std::isnan(value)) continue;
    REQUIRE(HalfOf(value) == half);
  }
  CHECK(OfHalf(0x3C00) == 1);
  CHECK(OfHalf(0x0001) == 0x1p-24F);
  CHECK(OfHalf(0xFBFF) == -65504);
}

TEST_CASE("A cut replaces a rectangle in either layout") {
  for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
    ImageBatch shape;
    shape.samples = 2, shape.height = 3, shape.width = 4, shape.channels = 2;
    shape.layout = layout;
    std::vector<std::uint8_t> bytes(48, 1), saved;
    std::fill_n(bytes.begin(), 24, std::uint8_t{9});
    MixImages(bytes.data(), shape, {0.5, CutRectangle{1, 2, 2, 1}}, saved);
    for (std::size_t y = 0; y < 3; ++y) {
      for (std::size_t x = 0; x < 4; ++x) {
        for (std::size_t c = 0; c < 2; ++c) {
          const std::size_t at = layout == Layout::kNHWC ? (y * 4 + x) * 2 + c : c * 12 + y * 4 + x;
          const bool inside = y == 2 && (x == 1 || x == 2);
          REQUIRE(bytes[at] == (inside ? 1 : 9));
          REQUIRE(bytes[24 + at] == (inside ? 9 : 1));
        }
      }
    }
  }
}

TEST_CASE("Pasting replaces the covered pixels alone, and a mirrored image mirrors back") {
  for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
    for (const ElementType type : {ElementType::kUint8, ElementType::kFloat32}) {
      ImageBatch shape;
      shape.samples = 1, shape.height = 3, shape.width = 5, shape.channels = 2;
      shape.layout = layout, shape.type = type;
      const std::size_t bytes = SizeOf(type);
      std::vector<std::uint8_t> own(shape.sample_bytes(), 9), partner(shape.sample_bytes());
      for (std::size_t i = 0; i < partner.size(); ++i)
        partner[i] = static_cast<std::uint8_t>(10 + i);
      const std::vector<std::uint8_t> covered = {0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1};
      PasteImage(own.data(), partner.data(), shape, covered);
      std::vector<std::uint8_t> mirrored = partner;
      MirrorImage(mirrored.data(), shape);
      for (std::size_t i = 0; i < 15 * 2 * bytes; ++i) {
        const std::size_t value = i / bytes;
        const std::size_t pixel = layout == Layout::kNHWC ? value / 2 : value % 15;
        REQUIRE(own[i] == (covered[pixel] == 1 ? partner[i] : 9));
        const std::size_t opposite = pixel / 5 * 5 + 4 - pixel % 5;
        const std::size_t from =
            layout == Layout::kNHWC ? opposite * 2 + value % 2 : value / 15 * 15 + opposite;
        REQUIRE(mirrored[i] == partner[from * bytes + i % bytes]);
      }
      MirrorImage(mirrored.data(), shape);
      CHECK(mirrored == partner);
    }
  }
}

TEST_CASE("One-hot labels spread the smoothed amount over the classes") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  const Mixed plain = PlayMixed(dataset, {OneHot{}}, 2);
  const Mixed smooth = PlayMixed(dataset, {OneHot{0, 0.1, {}, "target"}}, 2);
  for (std::size_t b = 0; b < plain.targets.size(); ++b) {
    for (std::size_t i = 0; i < plain.targets[b].size(); ++i) {
      const bool own = plain.samples[b][i / 10] % 10 == i % 10;
      REQUIRE(plain.targets[b][i] == (own ? 1.0F : 0.0F));
      REQUIRE(smooth.targets[b][i] == Approx(own ? 0.91 : 0.01));
    }
  }
}

TEST_CASE("Pixels and labels are mixed by the same share, for any number of threads") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 60));
  for (const bool cut : {false, true}) {
    Pipeline steps = {Normalize{{0}, {1}}, OneHot{}};
    steps.push_back(cut ? Transform(CutMix{}) : Transform(MixUp{1}));
    const Mixed mixed = PlayMixed(dataset, steps, 1);
    CHECK(PlayMixed(dataset, steps, 4).pixels == mixed.pixels);
    CHECK(PlayMixed(dataset, steps, 4).targets == mixed.targets);
    std::vector<double> shares;
    for (std::size_t b = 0; b < mixed.samples.size(); ++b) {
      const std::vector<std::uint64_t>& samples = mixed.samples[b];
      for (std::size_t row = 0; row < samples.size(); ++row) {
        const std::uint64_t own = samples[row];
        const std::uint64_t partner = samples[(row + samples.size() - 1) % samples.size()];
        const float* const target = &mixed.targets[b][row * 10];
        float sum = 0;
        for (std::size_t c = 0; c < 10; ++c)
          sum += target[c];
        REQUIRE(sum == Approx(1));
        if (own % 10 == partner % 10) continue;
        const double share = target[own % 10];
        REQUIRE(target[partner % 10] == Approx(1 - share).margin(1e-6));
        shares.push_back(share);
        if (!cut) {
          const double expected = (share * double(own) + (1 - share) * double(partner)) / 255;
          REQUIRE(mixed.pixels[b][row] == Approx(expected).margin(1e-5));
        } else {
          // A cut covers whole pixels, of which an image has 64.
          REQUIRE(share * 64 == Approx(std::round(share * 64)).margin(1e-4));
        }
      }
    }
    CHECK(*std::max_element(shares.begin(), shares.end()) -
              *std::min_element(shares.begin(), shares.end()) >
          0.3);
  }
}

TEST_CASE("Invalid steps for labels and batches are refused") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  const auto refusal = [&](const Pipeline& steps) {
    LoaderOptions options = OptionsFor(4, 1);
    options.transform = steps;
    return ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal({MixUp{}}), ContainsSubstring("OneHot before"));
  CHECK_THAT(refusal({OneHot{}, Invert{}}), ContainsSubstring("come last"));
  CHECK_THAT(refusal({OneHot{}, OneHot{}}), ContainsSubstring("one OneHot only"));
  CHECK_THAT(refusal({OneHot{0, 2, {}, "target"}}), ContainsSubstring("smoothing"));
  CHECK_THAT(refusal({OneHot{0, 0, "image", "target"}}), ContainsSubstring("one integer"));
  CHECK_THAT(refusal({OneHot{0, 0, {}, "label"}}), ContainsSubstring("choose another name"));
  CHECK_THAT(refusal({OneHot{0, 0, {}, ""}}), ContainsSubstring("OneHot's field needs a name"));
  CHECK_THAT(refusal({OneHot{}, MixUp{0}}), ContainsSubstring("MixUp needs 0 < alpha"));
  CHECK_THAT(refusal({OneHot{}, CutMix{1, 2}}), ContainsSubstring("CutMix needs a probability"));
  // A label beyond the classes is a fault of its sample.
  LoaderOptions options = OptionsFor(4, 1);
  options.transform = {OneHot{5, 0, {}, "target"}};
  options.integrity.on_fault = OnFault::kSkip;
  Loader loader(dataset, options);
  CHECK(SamplesOf(PlayBatches(loader, 0)).size() == 10);
}
