// sluice convert --split, and several folders at once.
#include <set>

#include <sluice/dataset.h>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

namespace {

std::set<std::string> KeysOf(const std::filesystem::path& data) {
  const Dataset dataset = Dataset::Open(data);
  std::set<std::string> keys;
  for (std::uint64_t i = 0; i < dataset.size(); ++i)
    keys.insert(dataset[i].key());
  return keys;
}

using Counts = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a split gives each part its share of every class, all together everything once") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteClasses(at("source"), 10, 20, 16);
  WriteBytes(folder / "source/cat/broken.jpg", TruncatedJpeg());
  const Outcome outcome =
      Sluice({"convert", at("source"), at("data"), "--split", "train=0.7,val=0.2,test=0.1"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 3);
  std::set<std::string> all;
  std::size_t samples = 0;
  for (const char* part : {"train", "val", "test"}) {
    const std::set<std::string> keys = KeysOf(folder / "data" / part);
    samples += keys.size();
    all.insert(keys.begin(), keys.end());
    CHECK(Dataset::Open(folder / "data" / part).schema().fields[1].classes.size() == 3);
  }
  CHECK(samples == 30);
  CHECK(all.size() == 30);
  CHECK(Dataset::Open(folder / "data/val").class_counts()[1] == 2);
  CHECK(Dataset::Open(folder / "data/train").class_counts()[2] == 7);
  // The seed decides.
  CHECK(Sluice({"convert", at("source"), at("same"), "--split", "train=0.7,val=0.2,test=0.1",
                "--seed", "9"})
            .exit_code == 3);
  CHECK(KeysOf(folder / "same/val") == KeysOf(folder / "data/val"));
  CHECK(Sluice({"convert", at("source"), at("other"), "--split", "train=0.7,val=0.2,test=0.1",
                "--split-seed", "1"})
            .exit_code == 3);
  CHECK(KeysOf(folder / "other/val") != KeysOf(folder / "data/val"));
}

TEST_CASE("several folders become a dataset each, and number their classes alike") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteJpeg(folder / "train/cat/1.jpg", MakePicture(20, 20));
  WriteJpeg(folder / "train/owl/1.jpg", MakePicture(20, 20));
  WriteJpeg(folder / "val/dog/1.jpg", MakePicture(20, 20));
  WriteJpeg(folder / "val/owl/1.jpg", MakePicture(20, 20));
  const Outcome outcome = Sluice({"convert", at("train"), at("val/"), at("data"), "--json"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(JsonOf(outcome)["parts"]["val"]["samples"] == 2);
  CHECK(Dataset::Open(folder / "data/train").class_counts() == Counts{1, 0, 1});
  CHECK(Dataset::Open(folder / "data/val").class_counts() == Counts{0, 1, 1});
  CHECK(Sluice({"convert", at("train"), at("val"), at("data2"), "--split", "a=1"}).exit_code == 2);
}

}  // namespace sluice::test
