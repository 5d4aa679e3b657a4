// sluice-bench transforms, run as a user would.
#include "tests/catch.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("sluice-bench transforms measures every step, and those that are named") {
  const nlohmann::json all =
      JsonOf(Bench({"transforms", "--rounds", "1", "--ms", "0", "--side", "40", "--json"}));
  CHECK(all["command"] == "transforms");
  CHECK(all["measurements"].size() == all["steps"].size());
  CHECK(all["measurements"].size() > 20);
  const nlohmann::json two = JsonOf(Bench({"transforms", "--rounds", "2", "--ms", "0", "--steps",
                                           "flip:1,jitter:0.4", "--steps", "blur:3", "--json"}));
  REQUIRE(two["measurements"].size() == 2);
  CHECK(two["measurements"][0]["name"] == "ns_per_pixel.flip:1,jitter:0.4");
  CHECK(two["measurements"][1]["values"].size() == 2);
  CHECK(two["measurements"][1]["least"].get<double>() > 0);
  const Outcome text = Bench({"transforms", "--rounds", "1", "--ms", "0", "--side", "16"});
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, ContainsSubstring("ns/pixel"));
}

TEST_CASE("sluice-bench transforms refuses what it cannot measure") {
  CHECK(Bench({"transforms", "--steps", "onehot"}).exit_code == 2);
  CHECK(Bench({"transforms", "--steps", "mixup,flip"}).exit_code == 2);
  CHECK(Bench({"transforms", "--steps", "mixup:0"}).exit_code == 2);
  CHECK(Bench({"transforms", "--steps", "smear"}).exit_code == 2);
  CHECK(Bench({"transforms", "--side", "0"}).exit_code == 2);
}

}  // namespace sluice::test
