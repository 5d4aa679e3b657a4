// sluice merge: classes, links to shards, duplicates, and what it refuses.
#include <sluice/dataset.h>
#include <sluice/dataset_writer.h>

#include "tests/tools/edited_datasets.h"
#include "tests/tools/json_answer.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

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

TEST_CASE("merge keeps the schema's unknown members of every dataset, and of two the first one's") {
  const Datasets folders;
  const auto write = [&](const char* name, const std::string& of_schema,
                         const std::string& of_field) {
    Schema schema{{Field::Label(), Field::Image()}, of_schema};
    schema.fields[1].unknown = of_field;
    DatasetWriter writer(folders.At(name), schema);
    SampleBuilder sample = writer.NewSample(name);
    sample.Set<std::int32_t>("label", 1);
    writer.Add(sample);
    writer.Finish();
    return folders.At(name);
  };
  const std::string a = write("a", R"({"both":1,"sa":1})", "");
  const std::string b = write("b", R"({"both":2,"sb":2})", R"({"fb":{"x":3}})");
  REQUIRE(Sluice({"merge", a, b, folders.At("all")}).exit_code == 0);
  const Schema schema = Dataset::Open(folders.At("all")).schema();
  CHECK(nlohmann::json::parse(schema.unknown) ==
        nlohmann::json({{"both", 1}, {"sa", 1}, {"sb", 2}}));
  CHECK(schema.fields[1].unknown == R"({"fb":{"x":3}})");
}

TEST_CASE("merge links shards if all classes keep their numbers") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  const std::string b = folders.Make("b", {"cat", "dog"}, 2, 200);
  const nlohmann::json answer = JsonOf(Sluice({"merge", a, b, folders.At("all"), "--json"}));
  CHECK(answer["shards_linked"] == 2);
  CHECK(std::filesystem::hard_link_count(folders.At("all") + "/shard-00001.sluice") == 2);
  CHECK(SamplesOf(folders.At("all")).size() == 10);
  // The inputs keep their shards when the new dataset is removed.
  std::filesystem::remove_all(folders.At("all"));
  CHECK(SamplesOf(b).size() == 4);
}

TEST_CASE("merge and repair take the files that symbolic links to shards lead to") {
  namespace fs = std::filesystem;
  const Datasets folders;
  const fs::path a = folders.Make("a", {"cat", "dog"}, 3, 100);
  // The layout of a cache of downloads: the shards are relative links to files in another folder.
  const fs::path blobs = folders.At("blobs"), linked = folders.At("snapshots/1");
  fs::create_directories(blobs);
  fs::create_directories(linked);
  for (const fs::directory_entry& file : fs::directory_iterator(a)) {
    const fs::path name = file.path().filename();
    fs::copy_file(file.path(), blobs / name);
    fs::create_symlink("../../blobs" / name, linked / name);
  }
  const auto expected = SamplesOf(a.string());
  for (const char* command : {"merge", "repair"}) {
    INFO(command);
    const std::string made = folders.At(command);
    const Outcome outcome = Sluice({command, linked.string(), made});
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(!fs::is_symlink(made + "/shard-00000.sluice"));
  }
  fs::remove_all(blobs);
  CHECK(SamplesOf(folders.At("merge")) == expected);
  CHECK(SamplesOf(folders.At("repair")) == expected);
}

TEST_CASE("merge refuses datasets that cannot be merged, and says why") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat"}, 2, 100);
  WriteJpeg(folders.folder / "flat/1.jpg", MakePicture(30, 20));
  REQUIRE(Sluice({"convert", folders.At("flat"), folders.At("f")}).exit_code == 0);
  const Outcome fields = Sluice({"merge", a, folders.At("f"), folders.At("x")});
  CHECK(fields.exit_code == 2);
  CHECK_THAT(fields.err,
             ContainsSubstring("it lacks the field \"label\"; `sluice column drop` hides"));
  const Outcome exists = Sluice({"merge", a, folders.At("f")});
  CHECK(exists.exit_code == 1);
  CHECK_THAT(exists.err, ContainsSubstring("is not empty"));
}

TEST_CASE("samples that two datasets share are refused by merge, or kept once or twice") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  // The second dataset has two pictures of the first, in a class with another number; another
  // picture under a third key of the first; and one picture with a new key.
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
  CHECK_THAT(refused.err, ContainsSubstring("cat/a") &&
                              ContainsSubstring("2 samples are shared in all") &&
                              ContainsSubstring("--duplicates drop"));
  CHECK_FALSE(std::filesystem::exists(folders.At("none")));

  const Outcome dropped =
      Sluice({"merge", a, b, folders.At("once"), "--duplicates", "drop", "--json"});
  const nlohmann::json once = JsonOf(dropped);
  CHECK(once["samples"] == 8);
  CHECK(once["duplicates"] == 2);
  CHECK(once["same_keys"] == 1);
  CHECK(once["warnings"].size() == 1);
  CHECK(SamplesOf(folders.At("once")).size() == 7);  // two samples have the same key
  CHECK(Dataset::Open(folders.At("once")).class_counts() == std::vector<std::uint64_t>{4, 3, 1});

  const Outcome kept = Sluice({"merge", a, b, folders.At("twice"), "--duplicates", "keep"});
  CHECK(kept.exit_code == 0);
  CHECK_THAT(kept.out, ContainsSubstring("2 samples that an earlier dataset also has were kept"));
  CHECK(Dataset::Open(folders.At("twice")).class_counts() == std::vector<std::uint64_t>{6, 3, 1});
}

TEST_CASE("a dataset merged with itself keeps samples once or as often as given, on request") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  CHECK(Sluice({"merge", a, a, folders.At("none")}).exit_code == 2);
  REQUIRE(Sluice({"merge", a, a, folders.At("once"), "--duplicates", "drop"}).exit_code == 0);
  CHECK(Dataset::Open(folders.At("once")).size() == 6);
  REQUIRE(Sluice({"merge", a, a, a, folders.At("thrice"), "--duplicates", "keep"}).exit_code == 0);
  CHECK(Dataset::Open(folders.At("thrice")).size() == 18);
  CHECK(SamplesOf(folders.At("thrice")) == SamplesOf(a));
}

TEST_CASE("merge does not drop a good sample in favour of a damaged one") {
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

}  // namespace sluice::test
