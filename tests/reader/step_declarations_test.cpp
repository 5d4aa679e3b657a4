// Every step of a transform (reader/transform/steps/) declares its properties. These tests compare
// the declarations with what the steps do.
#include <map>
#include <set>

#include <sluice/parse_pipeline.h>

#include "reader/decoding/decoded_picture_use.h"
#include "reader/transform/all_steps.h"
#include "reader/transform/geometry.h"
#include "reader/transform/steps.h"
#include "tests/catch.h"

using namespace sluice;

namespace {

// The size of a picture, and for each geometric step an example that changes the picture's frame in
// every way the step can.
constexpr std::uint32_t kFrameWidth = 40, kFrameHeight = 30;
const char* const kGeometricExamples[] = {"rrc:24",
                                          "resize:20x16",
                                          "short:15",
                                          "center:24x36",
                                          "crop:24+4:reflect",
                                          "flip",
                                          "vflip",
                                          "turns:0.5",
                                          "crc:24",
                                          "translate:4",
                                          "affine:30/0.1",
                                          "letterbox:24x25",
                                          "zoomout:1.5/4",
                                          "scalejitter:20/0.5/0.9",
                                          "fixedcrop:30x36",
                                          "shortest:10-12-15",
                                          "ioucrop",
                                          "mosaic:20",
                                          "perspective"};

template <class... Steps>
std::vector<Transform> EveryType(const std::variant<Steps...>*) {
  return {Transform(Steps{})...};
}
std::vector<Transform> EveryType() {
  return EveryType(static_cast<const Transform*>(nullptr));
}

bool DrawsSize(const Transform& step) {
  return std::visit(
      []<class Step>(const Step&) {
        if constexpr (StepOf<Step>::kKind == StepKind::kGeometric) return StepOf<Step>::kDrawsSize;
        return false;
      },
      step);
}

// The ways in which a step changes the frame of a picture, over many positions and epochs.
struct SeenChanges {
  bool resizes = false, borders = false, mirrors = false, swaps = false, warps = false;
  std::set<std::pair<double, double>> corners;              // of the visible part
  std::set<std::pair<std::uint32_t, std::uint32_t>> sizes;  // sorted: the shorter side first
};

SeenChanges Watch(const Transform& step) {
  SeenChanges seen;
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    for (std::uint64_t position = 0; position < 50; ++position) {
      PictureBoxes boxes{{{3, 4, 30, 20}, {20, 15, 26, 29}}, {0, 0}};
      Framing framing(kFrameWidth, kFrameHeight, DrawSeed(1, epoch), position, &boxes);
      framing.Apply(step);
      if (std::holds_alternative<Mosaic>(step)) framing.Finish();  // which puts its part there
      const Region& region = framing.frame().region;
      seen.resizes |= region.x.length != region.x.out || region.y.length != region.y.out;
      seen.borders |= region.bordered();
      seen.mirrors |= region.flip || region.flip_y;
      seen.swaps |= region.transpose;
      seen.warps |= framing.frame().warped;
      seen.corners.insert({region.x.start - region.x.at, region.y.start - region.y.at});
      seen.sizes.insert(std::minmax(framing.width(), framing.height()));
    }
  }
  return seen;
}

}  // namespace

TEST_CASE("Rows may be kept for these steps, and for no others") {
  // Written by hand: true if the part of a picture that a step shows, before flips, turns, warps
  // and pixel steps, is the same in each epoch.
  const std::map<std::string, bool> fixed = {
      {"RandomResizedCrop", false},
      {"Resize", true},
      {"ResizeShortSide", true},
      {"CenterCrop", true},
      {"RandomCrop", false},
      {"HorizontalFlip", true},
      {"VerticalFlip", true},
      {"RandomQuarterTurns", true},
      {"CenterResizedCrop", true},
      {"RandomTranslate", false},
      {"RandomAffine", true},
      {"Letterbox", true},
      {"RandomZoomOut", false},
      {"ScaleJitter", false},
      {"FixedSizeCrop", false},
      {"RandomShortestSize", false},
      {"RandomIoUCrop", false},
      {"Mosaic", false},
      {"RandomPerspective", false},
      {"ColorJitter", true},
      {"RandomHSV", true},
      {"RandomPhotometricDistort", true},
      {"RandomGrayscale", true},
      {"GaussianBlur", true},
      {"Solarize", true},
      {"Posterize", true},
      {"Equalize", true},
      {"AutoContrast", true},
      {"Invert", true},
      {"AdjustSharpness", true},
      {"RandomErasing", true},
      {"RandAugment", true},
      {"TrivialAugmentWide", true},
      {"Normalize", true},
      {"OneHot", true},
      {"MixUp", true},
      {"CutMix", true},
      {"CopyPaste", true},
      {"RandomChoice", true},  // without lists, or with pixel steps alone
  };
  LoaderOptions choice;
  choice.transform = {RandomChoice({{Invert{}}, {RandomChoice({{HorizontalFlip{}}})}})};
  CHECK_FALSE(RowsAreFixed(choice));
  choice.transform = {RandomChoice({{Invert{}}, {}}), ColorJitter{}};
  CHECK(RowsAreFixed(choice));
  for (const Transform& step : EveryType()) {
    INFO(StepName(step));
    REQUIRE(fixed.contains(StepName(step)));
    LoaderOptions options;
    options.transform = {Resize(32), step};
    CHECK(RowsAreFixed(options) == fixed.at(StepName(step)));
  }
}

TEST_CASE("Rows may not be kept if a crop follows a flip, if sizes change, or for several views") {
  LoaderOptions options;
  for (const Transform& turn :
       {Transform(HorizontalFlip()), Transform(VerticalFlip()), Transform(RandomQuarterTurns())}) {
    options.transform = {Resize(32), turn, RandomAffine(10), Invert()};
    CHECK(RowsAreFixed(options));
    options.transform = {turn, CenterCrop(32)};
    CHECK_FALSE(RowsAreFixed(options));
  }
  // What follows a warp, or its own size, decides which part of the picture is decoded.
  options.transform = {Resize(32), RandomAffine(10), CenterCrop(30)};
  CHECK_FALSE(RowsAreFixed(options));
  options.transform = {Resize(32), RandomAffine(10).with_size(30, 30)};
  CHECK_FALSE(RowsAreFixed(options));
  options.transform = {Resize(32)};
  options.sizes = {{0, 32, 32}, {2, 48, 48}};
  CHECK_FALSE(RowsAreFixed(options));
  options.sizes.clear();
  options.views = {{"other", {Resize(32)}, {}}};
  CHECK_FALSE(RowsAreFixed(options));
}

TEST_CASE("A geometric step does to the frame what it declares, and nothing else") {
  std::set<std::string> shown;
  for (const char* const text : kGeometricExamples) {
    const Transform step = ParsePipeline(text)[0];
    shown.insert(StepName(step));
    INFO(StepName(step));
    const SeenChanges seen = Watch(step);
    CHECK(seen.mirrors == Turns(step));
    CHECK(seen.swaps == SwapsSides(step));
    CHECK(seen.warps == Warps(step));
    CHECK((seen.corners.size() > 1 || seen.sizes.size() > 1) == DrawsPart(step));
    CHECK((seen.sizes.size() > 1) == DrawsSize(step));
    std::visit(
        [&]<class Step>(const Step& op) {
          if constexpr (StepOf<Step>::kKind == StepKind::kGeometric) {
            CHECK(seen.resizes == StepOf<Step>::kResizes);
            CHECK(seen.borders ==
                  StepOf<Step>::MayPad(op, PictureExtent{kFrameWidth, kFrameHeight}));
          }
        },
        step);
  }
  for (const Transform& step : EveryType()) {
    INFO("an example of " + StepName(step));
    CHECK(shown.contains(StepName(step)) == IsGeometric(step));
  }
}
