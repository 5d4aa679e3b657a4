// sluice-bench decode, run as a user would.
#include <csignal>
#include <fstream>
#include <set>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// Runs sluice-bench decode on a small dataset.
Outcome DecodeSmall(const TemporaryFolder& folder, const Words& options) {
  const std::string data = (folder / "data").string();
  if (!std::filesystem::exists(data)) {
    WriteClasses(folder / "source", 12, 80, 60);
    REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  }
  Words words = {"decode", data, "--transform", "rrc:32", "--rounds", "2", "--images", "6"};
  words.insert(words.end(), options.begin(), options.end());
  return Bench(words);
}

}  // namespace

TEST_CASE("sluice-bench decode --json has every decoder with its time, ratio and quality") {
  const TemporaryFolder folder;
  const Outcome outcome = DecodeSmall(folder, {"--json"});
  CHECK(outcome.exit_code == 0);
  const nlohmann::json answer = JsonOf(outcome);
  CHECK(answer["images"] == 6);
  CHECK(answer["transform"] == "rrc:32,flip");
  CHECK_FALSE(answer.contains("stages"));
  std::set<std::string> names;
  for (const nlohmann::json& way : answer["ways"]) {
    names.insert(way["name"].get<std::string>());
    CHECK(way["rounds"].size() == 2);
    CHECK(way["milliseconds_per_image"].get<double>() > 0);
    CHECK(way["ratio"].get<double>() > 0);
    if (way.contains("psnr_db")) CHECK(way["psnr_db"].get<double>() > 30);
  }
  for (const char* name : {"libjpeg", "planes", "own-plain", "packed-plain", "to-planes"})
    CHECK(names.count(name) == 1);
}

TEST_CASE("a dataset of packed images is measured like the JPEGs that it was made of") {
  const TemporaryFolder folder;
  const nlohmann::json jpeg = JsonOf(DecodeSmall(folder, {"--json"}));
  const std::string packed = (folder / "packed").string();
  REQUIRE(
      Sluice({"convert", (folder / "source").string(), packed, "--image", "packed"}).exit_code ==
      0);
  const nlohmann::json answer = JsonOf(Bench(
      {"decode", packed, "--transform", "rrc:32", "--rounds", "1", "--images", "6", "--json"}));
  CHECK(answer["images"] == 6);
  CHECK(answer["jpeg_bytes_per_image"] == jpeg["jpeg_bytes_per_image"]);
  CHECK(answer["packed_bytes_per_image"] == jpeg["packed_bytes_per_image"]);
  CHECK(answer["packed_bytes_per_image"] > answer["jpeg_bytes_per_image"]);
}

TEST_CASE("option --stages gives the time that each stage of decoding adds") {
  const TemporaryFolder folder;
  const nlohmann::json answer = JsonOf(DecodeSmall(folder, {"--stages", "--json"}));
  const std::vector<std::string> expected = {"parse",   "entropy", "transform",
                                             "weights", "resize",  "colour"};
  REQUIRE(answer["stages"].size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(answer["stages"][i]["name"] == expected[i]);
  const std::vector<std::string> packed = {"parse",   "unpacking", "transform",
                                           "weights", "resize",    "colour"};
  REQUIRE(answer["packed_stages"].size() == packed.size());
  for (std::size_t i = 0; i < packed.size(); ++i)
    CHECK(answer["packed_stages"][i]["name"] == packed[i]);
  CHECK_THAT(DecodeSmall(folder, {"--stages"}).out, ContainsSubstring("inverse DCT"));
}

TEST_CASE("option --only measures one decoder alone, and refuses an unknown name") {
  const TemporaryFolder folder;
  const nlohmann::json answer = JsonOf(DecodeSmall(folder, {"--only", "planes", "--json"}));
  REQUIRE(answer["ways"].size() == 1);
  CHECK(answer["ways"][0]["name"] == "planes");
  CHECK(DecodeSmall(folder, {"--only", "telepathy"}).exit_code == 2);
}

TEST_CASE("a transform that leaves a border, or a dataset without JPEGs, cannot be measured") {
  const TemporaryFolder folder;
  CHECK(DecodeSmall(folder, {"--transform", "center:500"}).exit_code == 2);
  const std::string raw = (folder / "raw").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), raw, "--image", "raw"}).exit_code == 0);
  const Outcome outcome = Bench({"decode", raw});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("has no JPEG"));
}

TEST_CASE("sluice-bench decode writes its result into a file, with the settings") {
  const TemporaryFolder folder;
  const std::string file = (folder / "result.json").string();
  const nlohmann::json answer =
      JsonOf(DecodeSmall(folder, {"--json", "--json-file", file, "--seed", "4"}));
  CHECK(answer["dataset"] == (folder / "data").string());
  CHECK(answer["rounds"] == 2);
  CHECK(answer["seed"] == 4);
  std::ifstream in(file);
  CHECK(nlohmann::json::parse(in) == answer);
  CHECK(Bench({"gate", file, file}).exit_code == 0);
}

TEST_CASE("sluice-bench decode refuses options that it would ignore") {
  const TemporaryFolder folder;
  for (const char* const transform :
       {"rrc:32,gray:0.5", "rrc:32,vflip:1", "rrc:32,turns:1", "rrc:32,affine:10"}) {
    CHECK(DecodeSmall(folder, {"--transform", transform}).exit_code == 2);
  }
}

TEST_CASE("an interrupted sluice-bench decode ends with 130") {
  const TemporaryFolder folder;
  REQUIRE(DecodeSmall(folder, {}).exit_code == 0);
  Running running(SLUICE_BENCH_COMMAND,
                  {"decode", (folder / "data").string(), "--rounds", "10000"});
  const Outcome outcome = running.Interrupt();
  CHECK(outcome.exit_code == 130);
  CHECK_THAT(outcome.err, ContainsSubstring("interrupted"));
}

}  // namespace sluice::test
