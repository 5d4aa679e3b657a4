// A conversion in parts, as a person or a workflow engine runs it: plan, convert --part, status and
// finish.
#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"
#include "tests/writer/stored.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// A folder with a source of 42 images and a broken one.
struct PartsFolder : TemporaryFolder {
  PartsFolder() {
    WriteClasses(path() / "source", 14, 60, 50);
    WriteBytes(path() / "source/cat/broken.jpg", TruncatedJpeg());
  }
  std::string At(const std::string& name) const { return (path() / name).string(); }
  // The command with options that give six shards if there is no split.
  Words Convert(const std::string& command, const std::string& data) const {
    return {command,   At("source"), At(data),        "--size", "200x160",
            "--image", "raw",        "--shard-bytes", "1MB"};
  }
  Outcome Part(const std::string& part, const std::string& data) const {
    return Sluice({"convert", "--part", part, At(data)});
  }
};

}  // namespace

TEST_CASE("plan, parts and finish make what convert makes, and report their progress") {
  const PartsFolder folder;
  REQUIRE(Sluice(folder.Convert("convert", "whole")).exit_code == 3);
  const Outcome plan = Sluice(folder.Convert("plan", "data"));
  CHECK(plan.exit_code == 0);
  CHECK_THAT(plan.out, ContainsSubstring("sluice convert --part I/N " + folder.At("data")));
  CHECK_THAT(plan.out, ContainsSubstring("sluice finish " + folder.At("data")));

  const Outcome first = folder.Part("1/3", "data");
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.out, ContainsSubstring("part 1 of 3 is there: 2 shards"));
  CHECK_THAT(folder.Part("1/3", "data").out, ContainsSubstring("2 shards (2 were there)"));
  const auto status = JsonOf(Sluice({"status", folder.At("data"), "--json"}));
  CHECK(status.at("shards_done") == 2);
  CHECK(status.at("missing") == nlohmann::json({0, 2, 3, 5}));
  CHECK_FALSE(status.at("finished").get<bool>());
  CHECK_THAT(Sluice({"status", folder.At("data")}).out, ContainsSubstring("missing    0, 2, 3, 5"));

  const Outcome early = Sluice({"finish", folder.At("data")});
  CHECK(early.exit_code == 1);
  CHECK_THAT(early.err, ContainsSubstring("4 of 6 planned shards are not there: 0, 2, 3, 5"));
  // A part that leaves a source out succeeds, so that a workflow engine continues. `sluice finish`
  // reports the source.
  CHECK(folder.Part("0/1", "data").exit_code == 0);
  CHECK_THAT(Sluice({"status", folder.At("data")}).out, ContainsSubstring("run `sluice finish"));
  const Outcome finish = Sluice({"finish", folder.At("data")});
  CHECK(finish.exit_code == 3);
  CHECK_THAT(finish.out, ContainsSubstring("skipped.tsv lists them all"));
  CHECK(ContentsOf(folder.At("data")) == ContentsOf(folder.At("whole")));

  CHECK_THAT(Sluice({"status", folder.At("data"), "--watch"}).out, ContainsSubstring("finished"));
  CHECK_THAT(folder.Part("0/1", "data").out, ContainsSubstring("the dataset is finished"));
  CHECK_THAT(Sluice({"finish", folder.At("data")}).out, ContainsSubstring("finished already"));
}

TEST_CASE("convert --part and finish without a fitting plan are refused with advice") {
  const PartsFolder folder;
  const Outcome unplanned = folder.Part("0/1", "source");
  CHECK(unplanned.exit_code == 1);
  CHECK_THAT(unplanned.err, ContainsSubstring("`sluice plan SOURCE DATASET`"));
  CHECK(Sluice({"status", folder.At("source")}).exit_code == 1);
  CHECK(Sluice({"finish", folder.At("source")}).exit_code == 1);

  REQUIRE(Sluice(folder.Convert("plan", "data")).exit_code == 0);
  SECTION("a plan made with another version of a library") {
    nlohmann::json plan = nlohmann::json::parse(ContentOf(folder.At("data") + "/plan.json"));
    plan["libraries"]["zstd"] = "1.2.3";
    plan["digest"] = std::string(32, '0');
    WriteBytes(folder.At("data") + "/plan.json", plan.dump());
    for (const Outcome& outcome :
         {folder.Part("0/1", "data"), Sluice({"finish", folder.At("data")})}) {
      CHECK(outcome.exit_code == 1);
      CHECK_THAT(outcome.err, ContainsSubstring("other libraries: zstd was \"1.2.3\" then"));
    }
  }
  SECTION("another plan for the same folder") {
    Words other = folder.Convert("plan", "data");
    other.insert(other.end(), {"--seed", "7"});
    const Outcome outcome = Sluice(other);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("seed was 0 then and is 7 now"));
  }
  SECTION("a plan that lost its list of sources") {
    std::filesystem::remove(folder.At("data") + "/plan-sources.bin");
    const Outcome outcome = folder.Part("0/1", "data");
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("run `sluice plan`"));
    CHECK(Sluice(folder.Convert("plan", "data")).exit_code == 0);
    CHECK(folder.Part("0/1", "data").exit_code == 0);
  }
}

TEST_CASE("each dataset of a split is planned, made and finished separately") {
  const PartsFolder folder;
  for (const char* const command : {"convert", "plan"}) {
    Words words = folder.Convert(command, command);
    words.insert(words.end(), {"--split", "train=0.7,val=0.3"});
    const Outcome outcome = Sluice(words);
    INFO(outcome.err);
    REQUIRE((outcome.exit_code == 0 || outcome.exit_code == 3));
  }
  for (const std::string part : {"/train", "/val"}) {
    CHECK(folder.Part("0/1", "plan" + part).exit_code == 0);
    // 0, or 3 if a source was left out.
    CHECK(Sluice({"finish", folder.At("plan" + part)}).exit_code % 3 == 0);
    CHECK(ContentsOf(folder.At("plan" + part)) == ContentsOf(folder.At("convert" + part)));
  }
}

}  // namespace sluice::test
