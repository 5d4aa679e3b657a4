// Sizes by epoch, as they are typed.
#include "bench/epoch/shared_options.h"
#include "tests/catch.h"
#include "tools/cli/quantity.h"

namespace sluice::test {

TEST_CASE("sizes by epoch are read in their order") {
  CHECK(bench::ParseSizes("160") == std::vector<OutputSize>{{0, 160, 160}});
  CHECK(bench::ParseSizes("160x120,192@16") ==
        std::vector<OutputSize>{{0, 160, 120}, {16, 192, 192}});
  for (const char* text : {"", "160@2", "160,192", "160,192@0", "160,192@8,224@8", "160,@3", "x"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(bench::ParseSizes(text), cli::UsageError);
  }
}

}  // namespace sluice::test
