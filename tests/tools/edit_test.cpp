// sluice subset, and the behaviour that all commands that edit datasets share.
#include <set>

#include <sluice/dataset.h>
#include <sluice/dataset_writer.h>
#include <sluice/error.h>

#include "tests/tools/edited_datasets.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("subset selects by class, number and count, in the dataset's order") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"ant", "cat", "dog"}, 4, 100);
  const auto all = SamplesOf(a);
  const auto taken = [&](const Words& words) {
    const std::string out = folders.At("out");
    std::filesystem::remove_all(out);
    Words command = {"subset", a, out};
    command.insert(command.end(), words.begin(), words.end());
    const Outcome outcome = Sluice(command);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    auto samples = SamplesOf(out);
    for (const auto& [key, sample] : samples)
      CHECK(all.at(key) == sample);
    CHECK(Dataset::Open(out).schema() == Dataset::Open(a).schema());
    return samples;
  };
  const auto pets = taken({"--class", "cat", "--class", "dog"});
  CHECK(pets.size() == 8);
  for (const auto& [key, sample] : pets)
    CHECK(sample.first != "ant");
  CHECK(taken({"--count", "5"}).size() == 5);
  CHECK(taken({"--count", "5"}) == taken({"--count", "5"}));
  CHECK(taken({"--count", "5"}) != taken({"--count", "5", "--seed", "1"}));
  CHECK(taken({"--count", "50"}) == all);
  const auto each = taken({"--per-class", "2"});
  CHECK(each.size() == 6);
  CHECK(Dataset::Open(folders.At("out")).class_counts() == std::vector<std::uint64_t>{2, 2, 2});
  WriteBytes(folders.folder / "ids", "7\n2\n7\n");
  taken({"--ids", folders.At("ids")});
  CHECK(Dataset::Open(folders.At("out"))[0].key() == Dataset::Open(a)[2].key());
  CHECK(Dataset::Open(folders.At("out"))[1].key() == Dataset::Open(a)[7].key());
  WriteBytes(folders.folder / "ids", "12\n");
  CHECK(Sluice({"subset", a, folders.At("z"), "--ids", folders.At("ids")}).exit_code == 2);
  CHECK(Sluice({"subset", a, folders.At("z"), "--class", "emu"}).exit_code == 2);
}

TEST_CASE("a dataset without samples is accepted by every command that makes another one") {
  const Datasets folders;
  folders.Make("more", {"cat", "dog"}, 2, 900);
  folders.Make("full", {"cat", "dog"}, 2, 100);
  WriteBytes(folders.folder / "names", "cat\ndog\nemu\n");
  const std::string wide = folders.At("wide");
  REQUIRE(Sluice({"convert", folders.At("full.src"), wide, "--classes", folders.At("names")})
              .exit_code == 0);
  const std::string empty = folders.At("empty");
  REQUIRE(Sluice({"subset", wide, empty, "--class", "emu"}).exit_code == 0);
  CHECK(Dataset::Open(empty).size() == 0);
  for (const Words& command :
       {Words{"append", "--repack", empty}, Words{"verify", empty}, Words{"inspect", empty},
        Words{"stats", empty}, Words{"repair", empty, folders.At("repaired")},
        Words{"export", empty, folders.At("exported")},
        Words{"transcode", empty, folders.At("raw"), "--image", "raw"},
        Words{"merge", empty, wide, folders.At("merged")},
        Words{"append", folders.At("more.src"), empty}}) {
    const Outcome outcome = Sluice(command);
    INFO(command[0] << ": " << outcome.err);
    CHECK(outcome.exit_code == 0);
  }
  CHECK(Dataset::Open(folders.At("merged")).size() == 4);
  CHECK(Dataset::Open(empty).size() == 4);
}

TEST_CASE("convert does not overwrite the shards of a dataset that was edited since") {
  const Datasets folders;
  for (int i = 0; i < 30; ++i) {
    WriteJpeg(folders.folder / "source/cat" / (std::to_string(i) + ".jpg"),
              MakePicture(60, 40, 3, static_cast<std::uint64_t>(i)));
  }
  WriteJpeg(folders.folder / "more/cat/x.jpg", MakePicture(60, 40, 3, 900));
  const std::string data = folders.At("data");
  const Words convert = {"convert", folders.At("source"), data, "--image", "raw", "--size",
                         "200x160", "--shard-size",       "1MB"};
  REQUIRE(Sluice(convert).exit_code == 0);
  const std::size_t planned = Dataset::Open(data).shards().size();
  REQUIRE(planned >= 3);
  REQUIRE(Sluice({"append", "--repack", data}).exit_code == 0);
  // Nobody needs the old order any more, and its names become free.
  std::set<std::string> used = {"manifest.json", "plan.json", "skipped.tsv"};
  const Dataset repacked = Dataset::Open(data);
  for (const ShardSummary& shard : repacked.shards())
    used.insert(shard.file);
  for (const auto& entry : std::filesystem::directory_iterator(data)) {
    if (used.count(entry.path().filename().string()) == 0) std::filesystem::remove(entry.path());
  }
  REQUIRE(Sluice({"append", folders.At("more"), data}).exit_code == 0);
  const auto before = SamplesOf(data);
  CHECK(before.size() == 31);
  const Outcome outcome = Sluice(convert);
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("was changed since"));
  CHECK(SamplesOf(data) == before);
}

TEST_CASE("two commands cannot write into one new folder at the same time") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat"}, 2, 100);
  const DatasetWriter writer(folders.folder / "new", Schema{{Field::Image()}});
  for (const Words& command :
       {Words{"merge", a, folders.At("new")}, Words{"subset", a, folders.At("new"), "--count", "1"},
        Words{"transcode", a, folders.At("new"), "--image", "raw"}}) {
    const Outcome outcome = Sluice(command);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("another command is writing into this folder"));
  }
  CHECK_THROWS_AS(DatasetWriter(folders.folder / "new", Schema{{Field::Image()}}), Error);
  CHECK(std::filesystem::is_empty(folders.folder / "new"));
}

}  // namespace sluice::test
