// sluice-bench order, run as a user would.
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/sources.h"

namespace sluice::test {

TEST_CASE("sluice-bench order measures every order at the dataset's size and at made-up ones") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 10, 40, 30);
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  const nlohmann::json answer =
      JsonOf(Bench({"order", data, "--samples", "5k,300", "--rounds", "2", "--json"}));
  CHECK(answer["command"] == "order");
  REQUIRE(answer["sizes"].size() == 3);
  CHECK(answer["sizes"][0]["name"] == "dataset");
  CHECK(answer["sizes"][1]["samples"] == 5000);
  CHECK(answer["sizes"][2]["samples"] == 300);
  for (const auto& size : answer["sizes"]) {
    REQUIRE(size["orders"].size() == 4);
    CHECK(size["orders"][3]["order"] == "list");
    // Played as stored, every epoch is the same.
    CHECK(size["orders"][2]["rank_correlation"].get<double>() == Approx(1));
  }
  CHECK(answer["sizes"][0]["orders"][0]["distinct_classes"].size() == 1);
  CHECK(answer["sizes"][1]["orders"][0]["distinct_classes"].size() == 2);
  for (const auto& one : answer["measurements"])
    CHECK(one["values"].size() == 2);
  const Outcome outcome = Bench({"order", data, "--samples", "none"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Catch::Matchers::ContainsSubstring("quasi_random"));
}

TEST_CASE("sluice-bench order deals epochs to ranks: what each reads is its share, and a little") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 10, 40, 30);
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  const nlohmann::json answer = JsonOf(Bench(
      {"order", data, "--samples", "2M", "--ranks", "1,40,70000", "--batch-size", "64", "--json"}));
  REQUIRE(answer["ranks"].size() == 2 * 3 * 2);
  for (const auto& line : answer["ranks"]) {
    INFO(line.dump());
    const std::uint64_t ranks = line["ranks"];
    if (ranks == 70'000 || (line["size"] == "dataset" && ranks == 40 && line["by"] == "shards")) {
      CHECK_THAT(line["trouble"].get<std::string>(), Catch::Matchers::ContainsSubstring("want as"));
    } else if (line["size"] == "2000000" && line["by"] == "lanes") {
      CHECK(line["rows"] == 2'000'000 / ranks);
      CHECK(line["lanes"] == (ranks == 1 ? 192 : 200));
      CHECK(line["read_of_share"][0] >= 1);
      CHECK(line["read_of_share"][1] < 3);  // all ranks read the tail
    } else if (ranks == 1) {
      CHECK(line["read_of_share"][1].get<double>() == Approx(1));
    }
  }
  CHECK(Bench({"order", data, "--ranks", "0"}).exit_code == 2);
}

TEST_CASE("sluice-bench order refuses sizes that no dataset has") {
  CHECK(Bench({"order", "data", "--samples", "0"}).exit_code == 2);
  CHECK(Bench({"order", "data", "--samples", "10,"}).exit_code == 2);
  CHECK(Bench({"order", "data", "--lanes", "0"}).exit_code == 2);
  CHECK(Bench({"order", "no-such-folder"}).exit_code == 1);
}

}  // namespace sluice::test
