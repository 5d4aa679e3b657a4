#include <sluice/nearest_name.h>

#include "tests/catch.h"

namespace sluice::test {

TEST_CASE("a name is near if it begins so or differs in few letters, whatever its case") {
  const std::vector<std::string> options = {"--quality", "--table", "--step-ms", "--epochs",
                                            "--shard-bytes"};
  CHECK(NearestName("--qualty", options) == "--quality");   // a letter is missing
  CHECK(NearestName("--tabel", options) == "--table");      // two are exchanged
  CHECK(NearestName("--tabble", options) == "--table");     // one is too many
  CHECK(NearestName("--quolity", options) == "--quality");  // one is another
  CHECK(NearestName("--step", options) == "--step-ms");     // a beginning
  CHECK(NearestName("--ShardBytes", options) == "--shard-bytes");
  CHECK(NearestName("--shard_bytes", options) == "--shard-bytes");
  CHECK(NearestName("--verbose", options).empty());
  CHECK(NearestName("--", options).empty());
  CHECK(NearestName("", options).empty());
  CHECK(NearestName("cats", {}).empty());
  CHECK(NearestName("cars", {"carts", "cats", "Cars"}) == "Cars");  // the one with fewest changes
  CHECK(NearestName(std::string(5000, 'x'), {std::string(5000, 'x')}).empty());
}

TEST_CASE("a message proposes the near name, or else lists the names") {
  CHECK(NamesInstead("lable", {"image", "label"}, "it has") == "; did you mean \"label\"?");
  CHECK(NamesInstead("weight", {"image", "label"}, "it has") == "; it has: image, label");
  CHECK(NamesInstead("weight", {}, "it has").empty());
  std::vector<std::string> many;
  for (int i = 0; i < 40; ++i)
    many.push_back("class " + std::to_string(i));
  CHECK_THAT(NamesInstead("dog", many, "its classes are"),
             Catch::Matchers::StartsWith("; its classes are: class 0, class 1,") &&
                 Catch::Matchers::EndsWith("class 29 and 10 more"));
}

}  // namespace sluice::test
