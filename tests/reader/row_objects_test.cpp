// The objects of a row as runs, against the same objects as pixels.
#include "reader/batch/row_objects.h"

#include <algorithm>

#include "format/random.h"
#include "tests/catch.h"

using namespace sluice;

namespace {

constexpr std::uint32_t kWidth = 13, kHeight = 9;
using Bitmap = std::vector<std::uint8_t>;  // line by line

// Scattered pixels, or bars down whole columns, which become one run.
Bitmap Drawn(std::uint64_t number) {
  RandomStream draws(1, Purpose::kMix, number);
  Bitmap pixels(kWidth * kHeight);
  const std::uint64_t share = draws.Below(5);
  for (std::uint32_t x = 0; x < kWidth; ++x) {
    const bool bar = draws.Below(4) == 0;
    for (std::uint32_t y = 0; y < kHeight; ++y)
      pixels[y * kWidth + x] = (bar && number % 2 == 0) || draws.Below(4) < share ? 1 : 0;
  }
  return pixels;
}

std::vector<PixelRun> RunsIn(const Bitmap& pixels) {
  std::vector<PixelRun> runs;
  for (std::uint64_t at = 0; at < pixels.size(); ++at)
    if (pixels[at % kHeight * kWidth + at / kHeight] == 1) runs.push_back({at, at + 1});
  JoinRuns(runs);
  return runs;
}

}  // namespace

TEST_CASE("Runs are cut, mirrored, painted and boxed as their pixels are") {
  const RowObjects row(kWidth, kHeight);
  for (std::uint64_t number = 0; number < 400; ++number) {
    const Bitmap pixels = Drawn(number), others = Drawn(number + 1000);
    const std::vector<PixelRun> runs = RunsIn(pixels);
    Bitmap painted(pixels.size()), inside(pixels.size()), outside(pixels.size());
    Bitmap mirrored(pixels.size());
    Box box{kWidth, kHeight, 0, 0};
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::size_t x = i % kWidth, y = i / kWidth;
      inside[i] = pixels[i] == 1 && others[i] == 1 ? 1 : 0;
      outside[i] = pixels[i] == 1 && others[i] == 0 ? 1 : 0;
      mirrored[y * kWidth + kWidth - 1 - x] = pixels[i];
      if (pixels[i] == 0) continue;
      box = {std::min(box.left, double(x)), std::min(box.top, double(y)),
             std::max(box.right, double(x + 1)), std::max(box.bottom, double(y + 1))};
    }
    row.Paint(runs, painted);
    REQUIRE(painted == pixels);
    REQUIRE(PartsOf(runs, RunsIn(others), true) == RunsIn(inside));
    REQUIRE(PartsOf(runs, RunsIn(others), false) == RunsIn(outside));
    REQUIRE(row.Mirrored(runs) == RunsIn(mirrored));
    if (!runs.empty()) REQUIRE(row.Around(runs) == box);
  }
}

TEST_CASE("The runs of a cut are the pixels of its rectangle") {
  const RowObjects row(kWidth, kHeight);
  for (const CutRectangle& cut :
       {CutRectangle{0, 0, kWidth, kHeight}, CutRectangle{2, 3, 4, 5}, CutRectangle{12, 8, 1, 1},
        CutRectangle{3, 3, 0, 4}, CutRectangle{3, 9, 4, 0}}) {
    Bitmap pixels(kWidth * kHeight);
    for (std::size_t y = cut.top; y < cut.top + cut.height; ++y)
      for (std::size_t x = cut.left; x < cut.left + cut.width; ++x)
        pixels[y * kWidth + x] = 1;
    CHECK(row.RunsOf(cut) == RunsIn(pixels));
  }
}

TEST_CASE("A row's value gives its objects back, and one that is not a row's is refused") {
  RowObjects row(kWidth, kHeight);
  InstancesBuilder builder;
  std::vector<std::byte> value;
  for (std::uint64_t number = 0; number < 20; ++number)
    row.Add(RunsIn(Drawn(number)), builder);
  builder.Finish(value);
  REQUIRE(row.Open(value) == nullptr);
  REQUIRE(row.size() == 20);
  for (std::uint64_t number = 0; number < 20; ++number)
    CHECK(row.RunsOf(number) == RunsIn(Drawn(number)));
  CHECK((row.Open({}) == nullptr && row.size() == 0));
  CHECK(RowObjects(kWidth + 1, kHeight).Open(value) != nullptr);
  builder.BeginObject();
  builder.AddOutline(std::vector<float>{1, 1, 5, 1, 5, 5});
  builder.Finish(value);
  CHECK(std::string(row.Open(value)) == "it has an outline, and the objects of a row are runs");
}
