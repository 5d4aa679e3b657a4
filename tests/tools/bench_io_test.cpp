// sluice-bench io, run as a user would.
#include <filesystem>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/sources.h"

namespace sluice::test {

TEST_CASE("sluice-bench io reads every shard in four ways and counts its bytes") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 10, 80, 60);
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  const nlohmann::json answer = JsonOf(Bench({"io", data, "--rounds", "2", "--json"}));
  CHECK(answer["command"] == "io");
  CHECK(answer["dataset_bytes"] == std::filesystem::file_size(folder / "data/shard-00000.sluice"));
  REQUIRE(answer["measurements"].size() == 4);
  for (const auto& one : answer["measurements"]) {
    CHECK(one["values"].size() == 2);
    CHECK(one["least"].get<double>() > 0);
  }
  const Outcome outcome = Bench({"io", data});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Catch::Matchers::ContainsSubstring("blocks in random order, cold"));
}

TEST_CASE("sluice-bench io of a dataset whose shard is missing is an error that names it") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 2, 80, 60);
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  std::filesystem::remove(folder / "data/shard-00000.sluice");
  const Outcome outcome = Bench({"io", data});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, Catch::Matchers::ContainsSubstring("shard-00000.sluice"));
}

}  // namespace sluice::test
