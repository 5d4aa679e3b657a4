// sluice merge, subset and append.
#include <map>

#include <sluice/dataset.h>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// Key -> class name and stored bytes, of every sample; the dataset is verified on the way.
std::map<std::string, std::pair<std::string, std::string>> SamplesOf(const std::string& path) {
  REQUIRE(Sluice({"verify", path, "--decode", "--quiet"}).exit_code == 0);
  const Dataset dataset = Dataset::Open(path);
  std::map<std::string, std::pair<std::string, std::string>> samples;
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    const Sample sample = dataset[i];
    const auto bytes = sample.Payload().bytes;
    std::string name;
    if (dataset.schema().fields.size() > 1) {
      name =
          dataset.schema().fields[1].classes.at(static_cast<std::size_t>(sample.Integer("label")));
    }
    samples[sample.key()] = {name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
  }
  return samples;
}

struct Datasets {
  TemporaryFolder folder;
  std::string At(const std::string& name) const { return (folder / name).string(); }
  // `count` pictures of each of the classes, converted.
  std::string Make(const std::string& name, const std::vector<std::string>& classes, int count,
                   std::uint64_t seed) const {
    for (const std::string& one : classes) {
      for (int i = 0; i < count; ++i) {
        WriteJpeg(folder / (name + ".src") / one / (name + std::to_string(i) + ".jpg"),
                  MakePicture(30, 20, 3, ++seed));
      }
    }
    REQUIRE(Sluice({"convert", At(name + ".src"), At(name), "--quality", "70"}).exit_code == 0);
    return At(name);
  }
};

}  // namespace

TEST_CASE("merge reconciles classes by name and copies what is stored as it is") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  const std::string b = folders.Make("b", {"ant", "dog"}, 2, 200);
  const std::string all = folders.At("all");
  const Outcome outcome = Sluice({"merge", a, b, all});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("10 samples of 3 classes in 2 shards"));
  auto expected = SamplesOf(a);
  expected.merge(SamplesOf(b));
  CHECK(SamplesOf(all) == expected);
  CHECK(Dataset::Open(all).schema().fields[1].classes ==
        std::vector<std::string>{"cat", "dog", "ant"});
  CHECK(Dataset::Open(all).class_counts() == std::vector<std::uint64_t>{3, 5, 2});
}

TEST_CASE("merge links shards where all classes keep their numbers") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  const std::string b = folders.Make("b", {"cat", "dog"}, 2, 200);
  const nlohmann::json answer = JsonOf(Sluice({"merge", a, b, folders.At("all"), "--json"}));
  CHECK(answer["shards_linked"] == 2);
  CHECK(std::filesystem::hard_link_count(folders.At("all") + "/shard-00001.sluice") == 2);
  CHECK(SamplesOf(folders.At("all")).size() == 10);
  // Others keep theirs when the new one goes.
  std::filesystem::remove_all(folders.At("all"));
  CHECK(SamplesOf(b).size() == 4);
}

TEST_CASE("merge refuses what cannot be merged, and says why") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat"}, 2, 100);
  WriteJpeg(folders.folder / "flat/1.jpg", MakePicture(30, 20));
  REQUIRE(Sluice({"convert", folders.At("flat"), folders.At("f")}).exit_code == 0);
  const Outcome fields = Sluice({"merge", a, folders.At("f"), folders.At("x")});
  CHECK(fields.exit_code == 2);
  CHECK_THAT(fields.err, ContainsSubstring("another number of fields"));
  CHECK_THAT(Sluice({"merge", a, a, folders.At("y")}).err,
             ContainsSubstring("the same samples were given twice"));
  const Outcome exists = Sluice({"merge", a, folders.At("f")});
  CHECK(exists.exit_code == 1);
  CHECK_THAT(exists.err, ContainsSubstring("is not empty"));
}

TEST_CASE("subset takes classes, numbers and counts, in the dataset's order") {
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

TEST_CASE("append adds shards converted like the others and keeps the old manifest") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  const auto before = SamplesOf(a);
  const Dataset open = Dataset::Open(a);
  const std::string id = open.id();
  WriteJpeg(folders.folder / "more/dog/x.jpg", MakePicture(600, 30, 3, 9));
  WriteJpeg(folders.folder / "more/dog/broken.jpg", MakePicture(60, 30, 3, 9));
  WriteBytes(folders.folder / "more/dog/broken.jpg", TruncatedJpeg());
  const Outcome outcome = Sluice({"append", folders.At("more"), a});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.out, ContainsSubstring("1 sample added"));
  CHECK_THAT(outcome.out, ContainsSubstring("7 samples of 2 classes in 2 shards"));
  const auto after = SamplesOf(a);
  CHECK(after.size() == 7);
  CHECK(after.at("dog/x.jpg").first == "dog");
  for (const auto& [key, sample] : before)
    CHECK(after.at(key) == sample);
  // 500 pixels at most, as the first conversion had it.
  CHECK(Dataset::Open(a).images()[0].max_width == 500);
  CHECK(std::filesystem::exists(a + "/manifest-" + id + ".json"));
  CHECK(open.size() == 6);  // whoever had it open goes on
  CHECK(open[5].Payload().bytes.size() > 0);
  CHECK_FALSE(std::filesystem::exists(a + ".append"));
  // The same samples again are refused, and a class of its own as well.
  CHECK(Sluice({"append", folders.At("more"), a}).exit_code == 2);
  CHECK(Dataset::Open(a).size() == 7);
  std::filesystem::remove_all(a + ".append");
  WriteJpeg(folders.folder / "other/emu/x.jpg", MakePicture(60, 30));
  const Outcome refused = Sluice({"append", folders.At("other"), a});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("emu"));
}

}  // namespace sluice::test
