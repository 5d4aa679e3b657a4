// sluice append: what it adds, what it refuses, and --repack.
#include <set>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <sluice/dataset.h>
#include <sluice/dataset_writer.h>
#include <sluice/loader.h>
#include <sluice/work_folder.h>

#include "format/disk/manifest.h"
#include "tests/file_content.h"
#include "tests/tools/edited_datasets.h"
#include "tests/tools/json_answer.h"
#include "tests/writer/stored.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a repeated append adds nothing, says so, and succeeds") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  folders.Make("more", {"cat"}, 2, 900);
  REQUIRE(Sluice({"append", folders.At("more.src"), a}).exit_code == 0);
  const auto before = SamplesOf(a);
  const Outcome again = Sluice({"append", folders.At("more.src"), a});
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.out,
             ContainsSubstring("2 samples, all already in the dataset: nothing was added"));
  CHECK(Dataset::Open(a).size() == 8);
  // A repeat also adds nothing after the dataset was repacked and other samples were added.
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

TEST_CASE("append adds samples while a loader reads, which plays on as before") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  folders.Make("more", {"cat"}, 2, 900);
  LoaderOptions options;
  options.batch_size = 1;
  Loader loader(Dataset::Open(a), options);
  std::uint64_t played = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    if (played == 1) REQUIRE(Sluice({"append", folders.At("more.src"), a}).exit_code == 0);
    played += batch.size();
  }
  CHECK(played == 6);
  CHECK(Dataset::Open(a).size() == 8);
}

TEST_CASE("append names the process that holds a lock on the folder") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  const int folder = open(a.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(folder >= 0);
  REQUIRE(flock(folder, LOCK_SH) == 0);
  const Outcome outcome = Sluice({"append", folders.At("a.src"), a});
  close(folder);
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err,
             ContainsSubstring("process " + std::to_string(getpid()) + ", sluice_tools"));
}

TEST_CASE("append refuses other pictures with the names and file sizes of pictures added before") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  // Decoders ignore bytes after a JPEG's end, which give both files the same size.
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

TEST_CASE("append converts new samples like the old ones, and keeps the old manifest") {
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
  // 500 pixels at most, as in the first conversion.
  CHECK(Dataset::Open(a).images()[0].max_width == 500);
  CHECK(std::filesystem::exists(a + "/manifest-" + id + ".json"));
  CHECK(open.size() == 6);  // a dataset opened before keeps working
  CHECK(open[5].Payload().bytes.size() > 0);
  CHECK_FALSE(std::filesystem::exists(a + ".append"));
  // The same samples are not added again, and a class that the dataset lacks is refused.
  CHECK(Sluice({"append", folders.At("more"), a}).exit_code == 3);
  CHECK(Dataset::Open(a).size() == 7);
  std::filesystem::remove_all(a + ".append");
  WriteJpeg(folders.folder / "other/emu/x.jpg", MakePicture(60, 30));
  const Outcome refused = Sluice({"append", folders.At("other"), a});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("emu"));
}

TEST_CASE(
    "append uses the options with which a dataset's samples were converted, whatever edits "
    "followed") {
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
  // If datasets were made differently, the merged one does not have options to reuse.
  REQUIRE(Sluice({"merge", raw, folders.At("a"), folders.At("mixed")}).exit_code == 0);
  const Outcome mixed = Sluice({"append", folders.At("more.src"), folders.At("mixed")});
  CHECK(mixed.exit_code == 0);
  CHECK_THAT(mixed.err, ContainsSubstring("does not say what options it was converted with") &&
                            ContainsSubstring("JPEGs of at most 500 pixels"));
}

TEST_CASE(
    "append refuses samples with other fields before it converts them, and names the difference") {
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
  // The refused command leaves nothing behind that would block an append of the right source.
  WriteBytes(folders.folder / "flat/t.csv", "path,label\nx.jpg,cat\n");
  CHECK(Sluice({"append", "--table", folders.At("flat/t.csv"), a}).exit_code == 0);
  CHECK(Dataset::Open(a).size() == 5);
}

TEST_CASE("append says what to do about another append that was begun and not finished") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 2, 100);
  folders.Make("more", {"cat"}, 1, 900);
  WorkFolder(a + ".append").Keep();
  std::filesystem::create_directory(a + ".append/dataset");
  std::filesystem::copy(folders.At("more/plan.json"), a + ".append/dataset/plan.json");
  const Outcome outcome = Sluice({"append", folders.At("more.src"), a});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("belongs to an unfinished append") &&
                              ContainsSubstring("remove this folder to cancel it"));
  CHECK(Dataset::Open(a).size() == 4);
}

TEST_CASE("append does not touch a user's folder that has the name of its work folder") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  folders.Make("more", {"cat"}, 2, 900);
  const auto before = ContentsOf(a);
  for (const Words& command :
       {Words{"append", folders.At("more.src"), a}, Words{"append", "--repack", a}}) {
    const std::string beside = a + (command[1] == "--repack" ? ".repack" : ".append");
    INFO(beside);
    // A conversion of the same sources, made by the user.
    REQUIRE(Sluice({"convert", folders.At("more.src"), beside}).exit_code == 0);
    const auto own = ContentsOf(beside);
    const auto refused = [&] {
      const Outcome outcome = Sluice(command);
      CHECK(outcome.exit_code == 1);
      CHECK_THAT(outcome.err, ContainsSubstring(beside) && ContainsSubstring("move or rename it"));
      CHECK(ContentsOf(a) == before);
    };
    refused();
    CHECK(ContentsOf(beside) == own);
    // The target of a link is not touched either.
    std::filesystem::rename(beside, folders.At("mine"));
    std::filesystem::create_directory_symlink(folders.At("mine"), beside);
    refused();
    CHECK(ContentsOf(folders.At("mine")) == own);
    std::filesystem::remove(beside);
    std::filesystem::remove_all(folders.At("mine"));
  }
}

TEST_CASE("a killed repack leaves a folder that the next one removes") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  WorkFolder(a + ".repack").Keep();
  WriteBytes(a + ".repack/dataset/shard-00000.sluice", "half of a shard");
  const Outcome outcome = Sluice({"append", "--repack", a});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(a + ".repack"));
}

TEST_CASE("append overwrites no file, even if no manifest names it") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  folders.Make("more", {"cat"}, 2, 900);
  // The folder may also hold shards of a manifest that was removed, or the user's own files.
  const std::string other = folders.Make("other", {"cat", "dog"}, 1, 500);
  std::filesystem::copy(other + "/shard-00000.sluice", a + "/shard-00001.sluice");
  WriteBytes(a + "/shard-00002.sluice", "notes");
  REQUIRE(Sluice({"append", folders.At("more.src"), a}).exit_code == 0);
  CHECK(Dataset::Open(a).size() == 8);
  CHECK(ContentOf(a + "/shard-00001.sluice") == ContentOf(other + "/shard-00000.sluice"));
  CHECK(ContentOf(a + "/shard-00002.sluice") == "notes");
}

// A manifest may give a shard any plain file name, so another writer may have chosen one of these.
TEST_CASE("append, repack and copy keep shards whose names look like unfinished files") {
  const Datasets folders;
  folders.Make("more", {"cat"}, 2, 900);
  for (const std::string name : {"shard-00000.sluice.tmp", "manifest.json.tmp", "plan.json.tmp",
                                 "shard-00000.sluice.part-0123456789abcdef0123456789abcdef.tmp"}) {
    INFO(name);
    const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
    const auto samples = SamplesOf(a);
    Id128 id;
    Manifest manifest = ReadManifest(a, id);
    std::filesystem::rename(a + "/" + manifest.shards[0].file, a + "/" + name);
    manifest.shards[0].file = name;
    WriteBytes(a + "/manifest.json", ManifestToJson(manifest, id));
    REQUIRE(Sluice({"verify", a}).exit_code == 0);
    CHECK(Sluice({"copy", a, folders.At("copied")}).exit_code == 0);
    CHECK(Sluice({"verify", folders.At("copied")}).exit_code == 0);
    CHECK(Sluice({"append", folders.At("more.src"), a}).exit_code == 0);
    CHECK(Sluice({"verify", a}).exit_code == 0);
    CHECK(Dataset::Open(a).size() == 8);
    CHECK(Sluice({"append", "--repack", a}).exit_code == 0);
    CHECK(Sluice({"verify", a}).exit_code == 0);
    const auto now = SamplesOf(a);
    for (const auto& [key, sample] : samples)
      CHECK(now.at(key) == sample);
    for (const char* const made : {"a", "a.src", "copied"})
      std::filesystem::remove_all(folders.At(made));
  }
}

TEST_CASE("append prints the warnings that the conversion of the new samples gives") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 2, 100);
  WriteJpeg(folders.folder / "x/x.jpg", MakePicture(60, 30));
  WriteBytes(folders.folder / "x/t.csv", "path,label,width\nx.jpg,cat,60\n");
  const Outcome outcome = Sluice({"append", "--table", folders.At("x/t.csv"), a});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("in the added samples: columns not used: width"));
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
  // The added samples are no longer at the end. In a random order of 90 samples, 18 or more of
  // these 30 are in the last third with a probability of 0.0002, and the seed is fixed.
  const Dataset now = Dataset::Open(data);
  int added = 0;
  for (std::uint64_t i = 60; i < 90; ++i)
    added += now[i].key().find("more") != std::string::npos ? 1 : 0;
  CHECK(added < 18);
  CHECK(added > 2);
  // A process that had the dataset open continues to read it, and can open it again by its id.
  CHECK(old[59].Decode().width == 30);
  const std::string kept = "manifest-" + old.id() + ".json";
  CHECK(std::filesystem::exists(folders.folder / "data" / kept));
  CHECK_FALSE(std::filesystem::exists(data + ".repack"));
  CHECK_FALSE(std::filesystem::exists(data + ".append"));
}

TEST_CASE(
    "append --repack without a source shuffles anew, by the seed alone, and can be followed by "
    "append") {
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
  // Shards of all three orders are there, and none took another's name.
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

// Keys are compressed together, thousands at a time. If reading one key decompressed all of these
// again, this test would exceed its time limit.
TEST_CASE("a repack of samples with long keys ends, and keeps every sample", "[slow]") {
  const TemporaryFolder folder;
  const std::string data = folder / "data";
  constexpr int kSamples = 4000;
  const std::string rest(60'000, 'k');
  DatasetWriter writer(data, Schema{{Field::Label("label", {"one"})}}, {.name = "long keys"});
  for (int i = 0; i < kSamples; ++i) {
    SampleBuilder sample = writer.NewSample(std::to_string(i) + rest);
    sample.Set<std::int32_t>("label", 0);
    writer.Add(sample);
  }
  writer.Finish();
  for (int round = 0; round < 2; ++round)
    REQUIRE(Sluice({"append", "--repack", data}).exit_code == 0);
  const Dataset dataset = Dataset::Open(data);
  CHECK(dataset.shards().size() > 1);
  std::set<int> numbers;
  for (std::uint64_t i = 0; i < dataset.size(); ++i)
    numbers.insert(std::stoi(dataset[i].key()));
  CHECK(numbers.size() == kSamples);
}

TEST_CASE("append of a folder that has grown refuses the images that are already in the dataset") {
  const Datasets folders;
  const std::string data = folders.Make("data", {"cat", "dog"}, 2, 100);
  const std::string source = folders.At("data.src");
  const auto before = SamplesOf(data);
  WriteJpeg(source + "/cat/more.jpg", MakePicture(30, 20));
  const Outcome outcome = Sluice({"append", source, data});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("already holds 4 of the samples to add"));
  CHECK(SamplesOf(data) == before);
  WriteBytes(folders.At("list"), "cat/more.jpg\n");
  CHECK(Sluice({"append", "--paths", folders.At("list"), source, data}).exit_code == 0);
  CHECK(SamplesOf(data).size() == 5);
}

TEST_CASE("option --seed of append requires --repack") {
  const Datasets folders;
  const std::string data = folders.Make("data", {"cat"}, 2, 100);
  CHECK(Sluice({"append", folders.At("data.src"), data, "--seed", "1"}).exit_code == 2);
  CHECK(Sluice({"append", data}).exit_code == 2);
}

TEST_CASE("append accepts one folder at a time, and says so") {
  const Datasets folders;
  const std::string data = folders.Make("data", {"cat"}, 2, 100);
  const Outcome outcome = Sluice({"append", folders.At("data.src"), folders.At("data.src"), data});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("only one folder can be added at a time"));
}

}  // namespace sluice::test
