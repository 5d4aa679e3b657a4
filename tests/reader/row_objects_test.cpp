// The objects of a row as runs, against the same objects as pixels.
#include "reader/batch/row_objects.h"

#include <algorithm>

#include "format/random.h"
#include "reader/transform/annotations.h"
#include "tests/catch.h"

using namespace sluice;

namespace {

constexpr std::uint32_t kRowWidth = 13, kRowHeight = 9;
using Bitmap = std::vector<std::uint8_t>;  // line by line

// Scattered pixels, or bars down whole columns, which become one run.
Bitmap DrawnObject(std::uint64_t number) {
  RandomStream draws(1, Purpose::kMix, number);
  Bitmap pixels(kRowWidth * kRowHeight);
  const std::uint64_t share = draws.Below(5);
  for (std::uint32_t x = 0; x < kRowWidth; ++x) {
    const bool bar = draws.Below(4) == 0;
    for (std::uint32_t y = 0; y < kRowHeight; ++y)
      pixels[y * kRowWidth + x] = (bar && number % 2 == 0) || draws.Below(4) < share ? 1 : 0;
  }
  return pixels;
}

std::vector<PixelRun> RunsOfBitmap(const Bitmap& pixels) {
  std::vector<PixelRun> runs;
  for (std::uint64_t at = 0; at < pixels.size(); ++at)
    if (pixels[at % kRowHeight * kRowWidth + at / kRowHeight] == 1) runs.push_back({at, at + 1});
  JoinRuns(runs);
  return runs;
}

}  // namespace

TEST_CASE("Runs are cut, mirrored, painted and boxed as their pixels are") {
  const RowObjects row(kRowWidth, kRowHeight);
  for (std::uint64_t number = 0; number < 400; ++number) {
    const Bitmap pixels = DrawnObject(number), others = DrawnObject(number + 1000);
    const std::vector<PixelRun> runs = RunsOfBitmap(pixels);
    Bitmap painted(pixels.size()), inside(pixels.size()), outside(pixels.size());
    Bitmap mirrored(pixels.size());
    Box box{kRowWidth, kRowHeight, 0, 0};
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::size_t x = i % kRowWidth, y = i / kRowWidth;
      inside[i] = pixels[i] == 1 && others[i] == 1 ? 1 : 0;
      outside[i] = pixels[i] == 1 && others[i] == 0 ? 1 : 0;
      mirrored[y * kRowWidth + kRowWidth - 1 - x] = pixels[i];
      if (pixels[i] == 0) continue;
      box = {std::min(box.left, double(x)), std::min(box.top, double(y)),
             std::max(box.right, double(x + 1)), std::max(box.bottom, double(y + 1))};
    }
    row.Paint(runs, painted);
    REQUIRE(painted == pixels);
    REQUIRE(PartsOf(runs, RunsOfBitmap(others), true) == RunsOfBitmap(inside));
    REQUIRE(PartsOf(runs, RunsOfBitmap(others), false) == RunsOfBitmap(outside));
    REQUIRE(row.Mirrored(runs) == RunsOfBitmap(mirrored));
    if (!runs.empty()) REQUIRE(MaskOf(runs, kRowHeight).box == box);
  }
}

TEST_CASE("The runs of a cut are the pixels of its rectangle") {
  const RowObjects row(kRowWidth, kRowHeight);
  for (const CutRectangle& cut :
       {CutRectangle{0, 0, kRowWidth, kRowHeight}, CutRectangle{2, 3, 4, 5},
        CutRectangle{12, 8, 1, 1}, CutRectangle{3, 3, 0, 4}, CutRectangle{3, 9, 4, 0}}) {
    Bitmap pixels(kRowWidth * kRowHeight);
    for (std::size_t y = cut.top; y < cut.top + cut.height; ++y)
      for (std::size_t x = cut.left; x < cut.left + cut.width; ++x)
        pixels[y * kRowWidth + x] = 1;
    CHECK(row.RunsOf(cut) == RunsOfBitmap(pixels));
  }
}

TEST_CASE("A row's value gives its objects back, and one that is not a row's is refused") {
  RowObjects row(kRowWidth, kRowHeight);
  InstancesBuilder builder;
  std::vector<std::byte> value;
  for (std::uint64_t number = 0; number < 20; ++number)
    row.Add(RunsOfBitmap(DrawnObject(number)), builder);
  builder.Finish(value);
  REQUIRE(row.Open(value) == nullptr);
  REQUIRE(row.size() == 20);
  for (std::uint64_t number = 0; number < 20; ++number)
    CHECK(row.RunsOf(number) == RunsOfBitmap(DrawnObject(number)));
  CHECK((row.Open({}) == nullptr && row.size() == 0));
  CHECK(RowObjects(kRowWidth + 1, kRowHeight).Open(value) != nullptr);
  builder.BeginObject();
  builder.AddOutline(std::vector<float>{1, 1, 5, 1, 5, 5});
  builder.Finish(value);
  CHECK(std::string(row.Open(value)) == "it has an outline, and the objects of a row are runs");
}
