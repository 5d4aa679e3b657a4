// sluice merge, subset and append.
#include <map>
#include <set>

#include <sluice/dataset.h>
#include <sluice/dataset_writer.h>
#include <sluice/error.h>

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

TEST_CASE("merge matches classes by name and copies stored bytes unchanged") {
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

TEST_CASE("merge links shards if all classes keep their numbers") {
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
  CHECK_THAT(fields.err, ContainsSubstring("its number of fields differs"));
  const Outcome exists = Sluice({"merge", a, folders.At("f")});
  CHECK(exists.exit_code == 1);
  CHECK_THAT(exists.err, ContainsSubstring("is not empty"));
}

TEST_CASE("samples that two datasets have are refused by merge, or taken once or twice") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  // Of the same pictures two, whose classes have other numbers, one other under a key of theirs,
  // and one more.
  const auto source = folders.folder / "b.src";
  std::filesystem::create_directories(source / "ant");
  std::filesystem::create_directories(source / "cat");
  std::filesystem::copy(folders.folder / "a.src/cat/a0.jpg", source / "cat/a0.jpg");
  std::filesystem::copy(folders.folder / "a.src/cat/a2.jpg", source / "cat/a2.jpg");
  WriteJpeg(source / "cat/a1.jpg", MakePicture(30, 20, 3, 500));
  WriteJpeg(source / "ant/x.jpg", MakePicture(30, 20, 3, 501));
  const std::string b = folders.At("b");
  REQUIRE(Sluice({"convert", source.string(), b, "--quality", "70"}).exit_code == 0);

  const Outcome refused = Sluice({"merge", a, b, folders.At("none")});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("cat/a") && ContainsSubstring("2 samples in all") &&
                              ContainsSubstring("--duplicates drop"));
  CHECK_FALSE(std::filesystem::exists(folders.At("none")));

  const Outcome dropped =
      Sluice({"merge", a, b, folders.At("once"), "--duplicates", "drop", "--json"});
  const nlohmann::json once = JsonOf(dropped);
  CHECK(once["samples"] == 8);
  CHECK(once["duplicates"] == 2);
  CHECK(once["same_keys"] == 1);
  CHECK(once["warnings"].size() == 1);
  CHECK(SamplesOf(folders.At("once")).size() == 7);  // by their keys
  CHECK(Dataset::Open(folders.At("once")).class_counts() == std::vector<std::uint64_t>{4, 3, 1});

  const Outcome kept = Sluice({"merge", a, b, folders.At("twice"), "--duplicates", "keep"});
  CHECK(kept.exit_code == 0);
  CHECK_THAT(kept.out, ContainsSubstring("2 samples also in an earlier dataset were taken"));
  CHECK(Dataset::Open(folders.At("twice")).class_counts() == std::vector<std::uint64_t>{6, 3, 1});
}

TEST_CASE("a dataset merged with itself is taken once or twice, as it was asked for") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  CHECK(Sluice({"merge", a, a, folders.At("none")}).exit_code == 2);
  REQUIRE(Sluice({"merge", a, a, folders.At("once"), "--duplicates", "drop"}).exit_code == 0);
  CHECK(Dataset::Open(folders.At("once")).size() == 6);
  REQUIRE(Sluice({"merge", a, a, a, folders.At("thrice"), "--duplicates", "keep"}).exit_code == 0);
  CHECK(Dataset::Open(folders.At("thrice")).size() == 18);
  CHECK(SamplesOf(folders.At("thrice")) == SamplesOf(a));
}

TEST_CASE("merge does not leave a sample out for a damaged one") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat"}, 2, 100);
  const std::string b = folders.At("b");
  std::filesystem::copy(a, b);
  const Dataset dataset = Dataset::Open(a);
  const auto payload = dataset[1].Payload().bytes;
  std::string bytes = ContentOf(a + "/shard-00000.sluice");
  const std::size_t place =
      bytes.find(std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
  REQUIRE(place != std::string::npos);
  bytes[place + 20] ^= 1;
  WriteBytes(a + "/shard-00000.sluice", bytes);
  const Outcome outcome = Sluice({"merge", a, b, folders.At("all"), "--duplicates", "drop"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("checksum does not match"));
  CHECK_FALSE(std::filesystem::exists(folders.At("all")));
}

TEST_CASE("an append that is repeated adds nothing, says so, and is done") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  folders.Make("more", {"cat"}, 2, 900);
  REQUIRE(Sluice({"append", folders.At("more.src"), a}).exit_code == 0);
  const auto before = SamplesOf(a);
  const Outcome again = Sluice({"append", folders.At("more.src"), a});
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.out, ContainsSubstring("2 samples, all there already: nothing was added"));
  CHECK(Dataset::Open(a).size() == 8);
  // Nor if they were put in another order since, and others were added.
  REQUIRE(Sluice({"append", "--repack", a}).exit_code == 0);
  folders.Make("others", {"dog"}, 1, 950);
  REQUIRE(Sluice({"append", folders.At("others.src"), a}).exit_code == 0);
  REQUIRE(Sluice({"append", "--repack", "--seed", "2", a}).exit_code == 0);
  const nlohmann::json answer = JsonOf(Sluice({"append", folders.At("more.src"), a, "--json"}));
  CHECK(answer["added"] == 0);
  CHECK(answer["already_there"] == true);
  CHECK(answer["samples"] == 9);
  CHECK_FALSE(std::filesystem::exists(a + ".append"));
}

TEST_CASE("append never takes other pictures of the same names and sizes for the dataset's") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  // Bytes behind a JPEG's end are no part of it.
  const auto write = [&](const char* day, const Picture& picture) {
    const std::vector<std::byte> jpeg = MakeJpeg(picture);
    std::string file(reinterpret_cast<const char*>(jpeg.data()), jpeg.size());
    REQUIRE(file.size() < 5000);
    file.resize(5000, 'x');
    WriteBytes(folders.folder / day / "cat/0.jpg", file);
  };
  write("day1", MakePicture(60, 40, 3, 1));
  write("day2", MakePicture(60, 40, 3, 2));
  REQUIRE(Sluice({"append", folders.At("day1"), a}).exit_code == 0);
  const Outcome other = Sluice({"append", folders.At("day2"), a});
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err, ContainsSubstring("of the same names and sizes"));
  CHECK(Dataset::Open(a).size() == 7);
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
  CHECK(open.size() == 6);  // a dataset opened before goes on
  CHECK(open[5].Payload().bytes.size() > 0);
  CHECK_FALSE(std::filesystem::exists(a + ".append"));
  // The same samples are not added again, and a class of its own is refused.
  CHECK(Sluice({"append", folders.At("more"), a}).exit_code == 3);
  CHECK(Dataset::Open(a).size() == 7);
  std::filesystem::remove_all(a + ".append");
  WriteJpeg(folders.folder / "other/emu/x.jpg", MakePicture(60, 30));
  const Outcome refused = Sluice({"append", folders.At("other"), a});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("emu"));
}

TEST_CASE(
    "append goes by the conversion that a dataset's samples come from, whatever was done since") {
  const Datasets folders;
  folders.Make("more", {"cat"}, 1, 900);
  const std::string source = folders.At("a.src");
  folders.Make("a", {"cat", "dog"}, 2, 100);
  const std::string raw = folders.At("raw");
  REQUIRE(Sluice({"convert", source, raw, "--image", "raw", "--size", "16"}).exit_code == 0);
  const std::string other = folders.At("other");
  REQUIRE(Sluice({"convert", folders.At("more.src"), other, "--image", "raw", "--size", "16",
                  "--seed", "7"})
              .exit_code == 0);
  const auto append = [&](const std::string& made) {
    const Outcome outcome = Sluice({"append", folders.At("more.src"), made});
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    CHECK_THAT(outcome.err, !ContainsSubstring("does not say"));
    return Dataset::Open(made);
  };
  REQUIRE(Sluice({"subset", raw, folders.At("part"), "--class", "cat"}).exit_code == 0);
  const Dataset part = append(folders.At("part"));
  CHECK(part.size() == 3);
  CHECK(part[2].Payload().codec == Codec::kRaw);
  CHECK(part[2].Payload().width == 16);
  REQUIRE(Sluice({"merge", raw, other, folders.At("both")}).exit_code == 0);
  std::filesystem::rename(folders.At("more.src/cat/more0.jpg"), folders.At("more.src/cat/m.jpg"));
  CHECK(append(folders.At("both"))[5].Payload().codec == Codec::kRaw);
  REQUIRE(Sluice({"transcode", raw, folders.At("packed"), "--image", "packed"}).exit_code == 0);
  const Dataset packed = append(folders.At("packed"));
  CHECK(packed[4].Payload().codec == Codec::kPacked);
  CHECK(packed[4].Payload().height == 16);
  // If datasets were made differently, the merged one has no options to take over.
  REQUIRE(Sluice({"merge", raw, folders.At("a"), folders.At("mixed")}).exit_code == 0);
  const Outcome mixed = Sluice({"append", folders.At("more.src"), folders.At("mixed")});
  CHECK(mixed.exit_code == 0);
  CHECK_THAT(mixed.err, ContainsSubstring("does not say what options it was converted with") &&
                            ContainsSubstring("JPEGs of at most 500 pixels"));
}

TEST_CASE("a dataset without a sample is taken by every command that makes another one") {
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

TEST_CASE("append refuses samples of other fields before it converts them, and says what differs") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 2, 100);
  WriteJpeg(folders.folder / "flat/x.jpg", MakePicture(60, 30));
  const Outcome flat = Sluice({"append", folders.At("flat"), a});
  CHECK(flat.exit_code == 2);
  CHECK_THAT(flat.err, ContainsSubstring(
                           "the source has the fields image, but the dataset has image, label"));
  WriteBytes(folders.folder / "flat/t.csv", "path,label,text\nx.jpg,cat,hello\n");
  const Outcome table = Sluice({"append", "--table", folders.At("flat/t.csv"), a});
  CHECK(table.exit_code == 2);
  CHECK_THAT(table.err, ContainsSubstring("image, label, text"));
  // Nothing is left that would stand in the way of the right source.
  WriteBytes(folders.folder / "flat/t.csv", "path,label\nx.jpg,cat\n");
  CHECK(Sluice({"append", "--table", folders.At("flat/t.csv"), a}).exit_code == 0);
  CHECK(Dataset::Open(a).size() == 5);
}

TEST_CASE("append says what to do about another addition that was begun and not finished") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 2, 100);
  folders.Make("more", {"cat"}, 1, 900);
  std::filesystem::create_directory(a + ".append");
  std::filesystem::copy(folders.At("more/plan.json"), a + ".append/plan.json");
  const Outcome outcome = Sluice({"append", folders.At("more.src"), a});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("an append that was not finished") &&
                              ContainsSubstring("remove this folder to give it up"));
  CHECK(Dataset::Open(a).size() == 4);
}

TEST_CASE("convert does not write its shards over those of a dataset that was changed since") {
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

TEST_CASE("two commands do not write into one new folder at a time") {
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

TEST_CASE("append passes on the warnings of the conversion of the new samples") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 2, 100);
  WriteJpeg(folders.folder / "x/x.jpg", MakePicture(60, 30));
  WriteBytes(folders.folder / "x/t.csv", "path,label,width\nx.jpg,cat,60\n");
  const Outcome outcome = Sluice({"append", "--table", folders.At("x/t.csv"), a});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("in what was added: columns not used: width"));
}

TEST_CASE("append --repack puts old and new samples in one random order and changes none") {
  const Datasets folders;
  const std::string data = folders.Make("data", {"cat", "dog"}, 30, 100);
  folders.Make("more", {"dog"}, 30, 900);
  const Dataset old = Dataset::Open(data);
  const auto before = SamplesOf(data);
  const nlohmann::json answer =
      JsonOf(Sluice({"append", folders.At("more.src"), data, "--repack", "--seed", "3", "--json"}));
  CHECK(answer["added"] == 30);
  CHECK(answer["repacked"] == true);
  CHECK(answer["samples"] == 90);
  auto expected = before;
  expected.merge(SamplesOf(folders.At("more")));
  const auto samples = SamplesOf(data);
  CHECK(samples == expected);
  // The added samples no longer lie at the end: of 30 among 90 at random, 18 or more in the last
  // third come by chance once in a thousand times, and the seed is fixed.
  const Dataset now = Dataset::Open(data);
  int added = 0;
  for (std::uint64_t i = 60; i < 90; ++i)
    added += now[i].key().find("more") != std::string::npos ? 1 : 0;
  CHECK(added < 18);
  CHECK(added > 2);
  // Who had it open reads on, and can open it again by its id.
  CHECK(old[59].Decode().width == 30);
  const std::string kept = "manifest-" + old.id() + ".json";
  CHECK(std::filesystem::exists(folders.folder / "data" / kept));
  CHECK_FALSE(std::filesystem::exists(data + ".repack"));
  CHECK_FALSE(std::filesystem::exists(data + ".append"));
}

TEST_CASE(
    "append --repack without a source permutes anew, by the seed alone, and can be appended to") {
  const Datasets folders;
  const std::string data = folders.Make("data", {"cat", "dog"}, 10, 100);
  const auto before = SamplesOf(data);
  const auto keys = [&](const std::string& path) {
    const Dataset dataset = Dataset::Open(path);
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < dataset.size(); ++i)
      names.push_back(dataset[i].key());
    return names;
  };
  const std::string twin = folders.At("twin");
  std::filesystem::copy(data, twin);
  const std::vector<std::string> first = keys(data);
  REQUIRE(Sluice({"append", "--repack", data}).exit_code == 0);
  const std::vector<std::string> second = keys(data);
  CHECK(second != first);
  CHECK(SamplesOf(data) == before);
  REQUIRE(Sluice({"append", "--repack", twin}).exit_code == 0);
  CHECK(keys(twin) == second);
  CHECK(Dataset::Open(twin).id() == Dataset::Open(data).id());
  REQUIRE(Sluice({"append", "--repack", twin, "--seed", "1"}).exit_code == 0);
  CHECK(keys(twin) != second);
  // Shards of all three orders lie there, and none took another's name.
  CHECK(Dataset::Open(twin).shards().size() == 1);
  std::size_t shards = 0;
  for (const auto& entry : std::filesystem::directory_iterator(twin))
    shards += entry.path().extension() == ".sluice" ? 1 : 0;
  CHECK(shards == 3);
  // The options of the conversion are still known.
  folders.Make("more", {"cat"}, 5, 900);
  REQUIRE(Sluice({"append", folders.At("more.src"), data}).exit_code == 0);
  auto expected = before;
  expected.merge(SamplesOf(folders.At("more")));
  CHECK(SamplesOf(data) == expected);
}

TEST_CASE("option --seed of append is for --repack") {
  const Datasets folders;
  const std::string data = folders.Make("data", {"cat"}, 2, 100);
  CHECK(Sluice({"append", folders.At("data.src"), data, "--seed", "1"}).exit_code == 2);
  CHECK(Sluice({"append", data}).exit_code == 2);
}

TEST_CASE("append takes one folder at a time, and says so") {
  const Datasets folders;
  const std::string data = folders.Make("data", {"cat"}, 2, 100);
  const Outcome outcome = Sluice({"append", folders.At("data.src"), folders.At("data.src"), data});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("only one folder can be added at a time"));
}

}  // namespace sluice::test
