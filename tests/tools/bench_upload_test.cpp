// sluice-bench upload, run as a user would.
#include <sluice/device.h>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

TEST_CASE("sluice-bench upload measures a card, or says that there is none") {
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

TEST_CASE("sluice-bench epoch takes a GPU, and says if there is none") {
  const Outcome wrong = Bench({"epoch", "data", "--device", "gpu"});
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, Catch::Matchers::ContainsSubstring("cuda:N"));
  const TemporaryFolder folder;
  WriteJpeg(folder / "source/a/1.jpg", MakePicture(20, 20));
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  const Outcome none = Bench({"epoch", data, "--device", "cuda:1023"});
  CHECK(none.exit_code == 1);
  CHECK_THAT(none.err, Catch::Matchers::ContainsSubstring("LoaderOptions::device"));
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
