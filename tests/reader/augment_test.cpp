// RandAugment and TrivialAugmentWide, compared with torchvision (augment_by_torchvision.py).
#include "reader/transform/augment.h"

#include <map>
#include <set>
#include <string>

#include "reader/transform/geometry.h"
#include "reader/transform/pixel_program.h"
#include "tests/formula_pictures.h"
#include "tests/reader/playing.h"
#include "tests/reader/run_augment.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

const char* const kNames[] = {"Identity",  "ShearX",     "ShearY",       "TranslateX", "TranslateY",
                              "Rotate",    "Brightness", "Color",        "Contrast",   "Sharpness",
                              "Posterize", "Solarize",   "AutoContrast", "Equalize"};

AugmentKind KindNamed(const std::string& name) {
  for (std::size_t k = 0; k < kAugmentKinds; ++k)
    if (name == kNames[k]) return static_cast<AugmentKind>(k);
  FAIL("no operation " << name);
  return {};
}

struct Magnitude {
  bool wide;
  const char* name;
  std::uint32_t bins, bin;
  double value;
  bool has_sign;
};
const Magnitude kMagnitudes[] = {
#define MAGNITUDES
#include "tests/reader/augment_by_torchvision.inc"
#undef MAGNITUDES
};

struct Outcome {
  const char* name;
  double magnitude;
  int picture;
  std::uint32_t channels;
  std::uint32_t checksum;
};
const Outcome kOutcomes[] = {
#include "tests/reader/augment_by_torchvision.inc"
};

std::vector<std::uint8_t> Run(const Transform& step, std::vector<std::uint8_t> values,
                              std::uint32_t channels, std::uint64_t position) {
  const PixelProgram program(Pipeline{step});
  program.CheckSize(kFormulaWidth, kFormulaHeight, channels);
  StepScratch scratch;
  program.Run({values.data(), kFormulaWidth, kFormulaHeight, channels}, DrawSeed(1, 2), position,
              scratch);
  return values;
}

}  // namespace

TEST_CASE("Magnitudes and signs are those of torchvision's tables") {
  std::set<std::string> names;
  for (const Magnitude& expected : kMagnitudes) {
    CAPTURE(expected.wide, expected.name, expected.bins, expected.bin);
    const AugmentKind kind = KindNamed(expected.name);
    CHECK(AugmentMagnitude(kind, expected.wide, expected.bin, expected.bins, kFormulaWidth,
                           kFormulaHeight) ==
          Approx(expected.value).epsilon(1e-5).margin(1e-6));  // torch computes in float32
    CHECK(AugmentHasSign(kind) == expected.has_sign);
    names.insert(expected.name);
  }
  CHECK(names.size() == kAugmentKinds);
}

TEST_CASE("Augmenting operations give torchvision's pixels to the byte") {
  for (const Outcome& expected : kOutcomes) {
    CAPTURE(expected.name, expected.magnitude, expected.picture, expected.channels);
    std::vector<std::uint8_t> values = FormulaPicture(expected.picture, expected.channels);
    RunAugment(KindNamed(expected.name), expected.magnitude, false, {0, 0, 0},
               {values.data(), kFormulaWidth, kFormulaHeight, expected.channels});
    CHECK(Crc32(values) == expected.checksum);
  }
}

TEST_CASE("TrivialAugmentWide draws operations, magnitudes and signs evenly", "[no-tsan]") {
  // The picture that each operation, magnitude and sign gives; several may give the same.
  const std::vector<std::uint8_t> before = FormulaPicture(0, 3);
  constexpr unsigned kBins = 4;
  std::map<std::vector<std::uint8_t>, double> chance;
  for (std::size_t k = 0; k < kAugmentKinds; ++k) {
    for (unsigned bin = 0; bin < kBins; ++bin) {
      for (const double sign : {1.0, -1.0}) {
        const auto kind = static_cast<AugmentKind>(k);
        const double magnitude =
            AugmentMagnitude(kind, true, bin, kBins, kFormulaWidth, kFormulaHeight);
        std::vector<std::uint8_t> values = before;
        RunAugment(kind, AugmentHasSign(kind) ? sign * magnitude : magnitude, false, {1, 2, 3},
                   {values.data(), kFormulaWidth, kFormulaHeight, 3});
        chance[values] += 1.0 / (kAugmentKinds * kBins * 2);
      }
    }
  }
  CHECK(chance.size() > 50);
  std::map<std::vector<std::uint8_t>, int> counts;
  constexpr int kDraws = 6000;
  for (std::uint64_t p = 0; p < kDraws; ++p) {
    const auto after = Run(TrivialAugmentWide(kBins).with_fill({1, 2, 3}), before, 3, p);
    REQUIRE(chance.count(after) == 1);
    ++counts[after];
  }
  for (const auto& [values, probability] : chance) {
    const double mean = probability * kDraws;  // five standard deviations on either side
    CHECK(counts[values] == Approx(mean).margin(5 * std::sqrt(mean)));
  }
}

TEST_CASE("RandAugment applies the requested number of operations one after another") {
  const std::vector<std::uint8_t> before = FormulaPicture(1, 3);
  // Every result that one operation of this magnitude can give.
  const auto once = [](const std::vector<std::uint8_t>& of) {
    std::set<std::vector<std::uint8_t>> made;
    for (std::size_t k = 0; k < kAugmentKinds; ++k) {
      for (const double sign : {1.0, -1.0}) {
        const auto kind = static_cast<AugmentKind>(k);
        const double magnitude =
            AugmentMagnitude(kind, false, 9, 31, kFormulaWidth, kFormulaHeight);
        std::vector<std::uint8_t> values = of;
        RunAugment(kind, AugmentHasSign(kind) ? sign * magnitude : magnitude, true, {0, 0, 0},
                   {values.data(), kFormulaWidth, kFormulaHeight, 3});
        made.insert(values);
      }
    }
    return made;
  };
  const std::set<std::vector<std::uint8_t>> first = once(before);
  std::set<std::vector<std::uint8_t>> second;
  for (const auto& values : first)
    second.merge(once(values));
  RandAugment one;
  one.bilinear = true;
  one.operations = 1;
  RandAugment two = one;
  two.operations = 2;
  RandAugment none = one;
  none.operations = 0;
  std::map<std::vector<std::uint8_t>, int> counts;
  for (std::uint64_t p = 0; p < 400; ++p) {
    const auto after = Run(one, before, 3, p);
    REQUIRE(first.count(after) == 1);
    ++counts[after];
    REQUIRE(second.count(Run(two, before, 3, p)) == 1);
    CHECK(Run(none, before, 3, p) == before);
  }
  CHECK(counts.size() == first.size());
}

TEST_CASE("Augmentations out of range are refused") {
  const auto refusal = [](const Transform& step) {
    return ErrorText([&step] { const PixelProgram program(Pipeline{step}); },
                     ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal(RandAugment{2, 31}), ContainsSubstring("magnitude"));
  CHECK_THAT(refusal(RandAugment{2, 0, 1}), ContainsSubstring("bins"));
  CHECK_THAT(refusal(RandAugment{17}), ContainsSubstring("16"));
  CHECK_THAT(refusal(TrivialAugmentWide{1}), ContainsSubstring("bins"));
}
