// The commands of sluice-bench that measure one part alone, run as a user would: io, transforms,
// upload. (decode and convert have tests of their own.)
#include <cmath>
#include <filesystem>
#include <sstream>

#include <sluice/device.h>

#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
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

TEST_CASE("sluice-bench io of a dataset with a missing shard is an error that names the shard") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 2, 80, 60);
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  std::filesystem::remove(folder / "data/shard-00000.sluice");
  const Outcome outcome = Bench({"io", data});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, Catch::Matchers::ContainsSubstring("shard-00000.sluice"));
}

using Catch::Matchers::ContainsSubstring;

TEST_CASE("sluice-bench transforms measures every step, or the named ones") {
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

TEST_CASE("sluice-bench transforms gives the time of a row, at the size that the step makes it") {
  const TemporaryFolder folder;
  const std::string file = (folder / "steps.json").string();
  const Outcome text = Bench({"transforms", "--rounds", "1", "--ms", "1", "--steps", "blur:3",
                              "--steps", "rrc:96", "--json-file", file});
  REQUIRE(text.exit_code == 0);
  const nlohmann::json answer = nlohmann::json::parse(ContentOf(file));
  for (const auto& [step, pixels] :
       {std::pair("blur:3", 224 * 224), std::pair("rrc:96", 96 * 96)}) {
    INFO(text.out);
    double nanoseconds = 0;
    for (const nlohmann::json& one : answer["measurements"]) {
      if (one["name"] == std::string("ns_per_pixel.") + step) nanoseconds = one["values"][0];
    }
    CHECK(nanoseconds > 0);
    const std::string line = text.out.substr(text.out.find(step));
    std::istringstream words(line.substr(0, line.find('\n')));
    std::string last;
    while (words >> last) {
    }
    CHECK(last == std::to_string(std::lround(1e-3 * nanoseconds * pixels)));
  }
}

TEST_CASE("sluice-bench transforms refuses steps that it cannot measure") {
  CHECK(Bench({"transforms", "--steps", "onehot"}).exit_code == 2);
  CHECK(Bench({"transforms", "--steps", "mixup,flip"}).exit_code == 2);
  CHECK(Bench({"transforms", "--steps", "mixup:0"}).exit_code == 2);
  CHECK(Bench({"transforms", "--steps", "smear"}).exit_code == 2);
  CHECK(Bench({"transforms", "--side", "0"}).exit_code == 2);
}

TEST_CASE("sluice-bench upload measures a card, or says that it is missing") {
  const Outcome outcome =
      Bench({"upload", "--batch-size", "8", "--batches", "4", "--rounds", "2", "--json"});
  if (Device::CudaCount() == 0) {
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, Catch::Matchers::ContainsSubstring("no CUDA device"));
    return;
  }
  const nlohmann::json answer = JsonOf(outcome);
  CHECK(answer["command"] == "upload");
  CHECK(answer["measurements"].size() == 2);
}

TEST_CASE("sluice-bench epoch refuses an unknown device, and says that a GPU is missing") {
  const Outcome wrong = Bench({"epoch", "data", "--device", "gpu"});
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, Catch::Matchers::ContainsSubstring("cuda:N"));
  const TemporaryFolder folder;
  WriteJpeg(folder / "source/a/1.jpg", MakePicture(20, 20));
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  const Outcome none = Bench({"epoch", data, "--device", "cuda:1023"});
  CHECK(none.exit_code == 1);
  CHECK_THAT(none.err, Catch::Matchers::ContainsSubstring("--device"));
}

TEST_CASE("wrong usage of sluice-bench upload ends with 2 and names the option") {
  for (const Words& words :
       {Words{"--normalize", "f64"}, Words{"--layout", "chwn"}, Words{"--batch-size", "0"},
        Words{"--rounds", "-1"}, Words{"--transform", "jiggle:1"}}) {
    Words all = {"upload"};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = Bench(all);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Catch::Matchers::ContainsSubstring(words[0]));
  }
}

}  // namespace sluice::test
