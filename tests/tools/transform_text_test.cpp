// Transforms as they are typed.
#include "bench/transform_text.h"

#include "tests/catch.h"
#include "tools/cli/quantity.h"

namespace sluice::test {

using bench::ParseTransform;

TEST_CASE("each step of a transform is read with its numbers") {
  const Pipeline steps =
      ParseTransform("rrc:200x100,resize:64,short:256,center:224x192,crop:32+4,crop:28,flip");
  REQUIRE(steps.size() == 7);
  CHECK(std::get<RandomResizedCrop>(steps[0]).width == 200);
  CHECK(std::get<RandomResizedCrop>(steps[0]).height == 100);
  CHECK(std::get<Resize>(steps[1]).height == 64);
  CHECK(std::get<ResizeShortSide>(steps[2]).side == 256);
  CHECK(std::get<CenterCrop>(steps[3]).height == 192);
  CHECK(std::get<RandomCrop>(steps[4]).width == 32);
  CHECK(std::get<RandomCrop>(steps[4]).padding == 4);
  CHECK(std::get<RandomCrop>(steps[5]).padding == 0);
  CHECK(std::get<HorizontalFlip>(steps[6]).probability == 0.5);
  CHECK(ParseTransform("none").empty());
}

TEST_CASE("a resize has a filter behind it, the triangle where none is named") {
  const Pipeline steps = ParseTransform("rrc:224:area,resize:64:area,short:256:area,rrc:96");
  CHECK(std::get<RandomResizedCrop>(steps[0]).width == 224);
  CHECK(std::get<RandomResizedCrop>(steps[0]).filter == Filter::kArea);
  CHECK(std::get<Resize>(steps[1]).filter == Filter::kArea);
  CHECK(std::get<ResizeShortSide>(steps[2]).side == 256);
  CHECK(std::get<ResizeShortSide>(steps[2]).filter == Filter::kArea);
  CHECK(std::get<RandomResizedCrop>(steps[3]).filter == Filter::kTriangle);
}

TEST_CASE("what is no transform is refused") {
  for (const char* text : {"", "rrc", "rrc:", "rrc:0", "resize:2x", "short:3x4", "crop:32+",
                           "crop:+4", "flip:2", "none,flip", "rrc:224,", "blur:3",
                           "center:224:area", "flip:area", "rrc:area", "rrc:8:cubic"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(ParseTransform(text), cli::UsageError);
  }
}

}  // namespace sluice::test
