// sluice convert --split, and several folders at once.
#include <fstream>
#include <set>

#include <sluice/dataset.h>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"
#include "tests/working_directory.h"

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

TEST_CASE("a split gives each part its share of every class, and every sample goes to one part") {
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
  // --split-seed decides which samples a part gets, and --seed does not.
  CHECK(Sluice({"convert", at("source"), at("same"), "--split", "train=0.7,val=0.2,test=0.1",
                "--seed", "9"})
            .exit_code == 3);
  CHECK(KeysOf(folder / "same/val") == KeysOf(folder / "data/val"));
  CHECK(Sluice({"convert", at("source"), at("other"), "--split", "train=0.7,val=0.2,test=0.1",
                "--split-seed", "1"})
            .exit_code == 3);
  CHECK(KeysOf(folder / "other/val") != KeysOf(folder / "data/val"));
}

TEST_CASE("parts with many small classes have the requested sizes") {
  const TemporaryFolder folder;
  for (int c = 0; c < 20; ++c) {
    for (int i = 0; i < 3; ++i) {
      WriteJpeg(folder / "source" / std::to_string(c) / (std::to_string(i) + ".jpg"),
                MakePicture(8, 8));
    }
  }
  const std::string source = (folder / "source").string();
  REQUIRE(
      Sluice({"convert", source, (folder / "half").string(), "--split", "a=0.5,b=0.5"}).exit_code ==
      0);
  CHECK(Dataset::Open(folder / "half/a").size() == 30);
  REQUIRE(Sluice({"convert", source, (folder / "tenth").string(), "--split", "a=0.9,b=0.1"})
              .exit_code == 0);
  const std::uint64_t tenth = Dataset::Open(folder / "tenth/b").size();
  CHECK((tenth >= 5 && tenth <= 7));
}

TEST_CASE("a part that would be empty is found before the others are converted") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteClasses(at("source"), 3, 20, 16);
  const Outcome outcome =
      Sluice({"convert", at("source"), at("data"), "--split", "train=0.98,val=0.02"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, Catch::Matchers::ContainsSubstring("has too few images"));
  CHECK_FALSE(std::filesystem::exists(folder / "data"));
}

TEST_CASE("a split whose fractions add up to less than 1 gives a warning") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 10, 20, 16);
  const auto run = [&](const char* data, const char* split) {
    return Sluice(
        {"convert", (folder / "source").string(), (folder / data).string(), "--split", split});
  };
  CHECK_THAT(run("most", "train=0.8").err,
             Catch::Matchers::ContainsSubstring("add up to 0.8; the other 0.2 of the images"));
  CHECK(run("all", "train=0.7,val=0.2,test=0.1").err.find("add up") == std::string::npos);
}

TEST_CASE("several folders become a dataset each, with the same class numbers") {
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
  // Parts cannot go into a dataset, nor into a file.
  const Outcome inside =
      Sluice({"convert", at("train"), at("data") + "/train", "--split", "a=0.5,b=0.5"});
  CHECK(inside.exit_code == 1);
  CHECK_THAT(inside.err, Catch::Matchers::ContainsSubstring("is itself a dataset"));
  CHECK_FALSE(std::filesystem::exists(folder / "data/train/a"));
  const Outcome file = Sluice({"convert", at("train"), at("val/dog/1.jpg"), "--split", "a=1"});
  CHECK(file.exit_code == 1);
  CHECK_THAT(file.err, Catch::Matchers::ContainsSubstring("1.jpg: cannot be created"));
}

TEST_CASE(
    "a folder that holds train and val is refused with advice, and --split-folders converts it") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  for (const char* key : {"train/cat/1", "train/owl/1", "val/owl/1", "test/1", "test/2"})
    WriteJpeg(folder / "source" / (std::string(key) + ".jpg"), MakePicture(20, 20));
  const Outcome refused = Sluice({"convert", at("source"), at("data")});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err,
             Catch::Matchers::ContainsSubstring(
                 "holds test/, train/ and val/, which look like the parts of a split"));
  CHECK_THAT(refused.err, Catch::Matchers::ContainsSubstring("--split-folders"));
  CHECK_THAT(refused.err, Catch::Matchers::ContainsSubstring("--labels top"));
  CHECK_FALSE(std::filesystem::exists(folder / "data"));
  CHECK(Sluice({"convert", at("source"), at("data"), "--split-folders"}).exit_code == 0);
  CHECK(Dataset::Open(folder / "data/train").class_counts() == Counts{1, 1});
  CHECK(Dataset::Open(folder / "data/val").class_counts() == Counts{0, 1});
  CHECK(KeysOf(folder / "data/val") == std::set<std::string>{"owl/1.jpg"});
  CHECK(Dataset::Open(folder / "data/test").size() == 2);  // flat: without labels
  CHECK(Dataset::Open(folder / "data/test").schema().fields.size() == 1);
  // With --labels, these folders are classes.
  CHECK(Sluice({"convert", at("source"), at("one"), "--labels", "top"}).exit_code == 0);
  CHECK(Dataset::Open(folder / "one").class_counts() == Counts{2, 2, 1});
  CHECK(Sluice({"convert", at("source"), at("x"), "--split-folders", "--split", "a=1"}).exit_code ==
        2);
  CHECK(Sluice({"convert", at("source/train/cat"), at("x"), "--split-folders"}).exit_code == 1);
}

TEST_CASE("without --mask-dir, --split-folders looks for masks nowhere") {
  const TemporaryFolder folder;
  for (const char* key : {"source/train/cat/1.jpg", "source/val/cat/1.jpg"})
    WriteJpeg(folder / key, MakePicture(20, 20));
  // A folder with a part's name, in the folder where the command runs, has nothing to do with
  // masks.
  std::filesystem::create_directory(folder / "train");
  const WorkingDirectory here(folder.path());
  const Outcome outcome = Sluice({"convert", "source", "data", "--split-folders"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(Dataset::Open("data/train").schema().fields.size() == 2);  // image and label
}

TEST_CASE(
    "convert --split-folders follows links out of the source on request only, and counts them") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  for (const char* key : {"source/train/cat/1.jpg", "elsewhere/cat/2.jpg"})
    WriteJpeg(folder / key, MakePicture(20, 20));
  std::filesystem::create_symlink(folder / "elsewhere", folder / "source/val");
  const Words inside = {"convert", at("source"), at("inside"), "--split-folders"};
  const Outcome counted = Sluice(inside);
  CHECK(counted.exit_code == 0);
  CHECK_THAT(counted.err, Catch::Matchers::ContainsSubstring(
                              "1 link leads out of the source and was not followed, such as val"));
  CHECK(std::filesystem::exists(folder / "inside/train"));
  CHECK_FALSE(std::filesystem::exists(folder / "inside/val"));
  Words all = {"convert", at("source"), at("all"), "--split-folders", "--follow-links"};
  CHECK(Sluice(all).err.find("not followed") == std::string::npos);
  CHECK(KeysOf(folder / "all/val") == std::set<std::string>{"cat/2.jpg"});
  std::filesystem::remove_all(folder / "source/train");
  const Outcome none = Sluice({"convert", at("source"), at("none"), "--split-folders"});
  CHECK(none.exit_code == 1);
  CHECK_THAT(none.err, Catch::Matchers::ContainsSubstring("--follow-links takes what lies there"));
}

TEST_CASE("convert --split-folders names images that lie in no folder of a part") {
  const TemporaryFolder folder;
  for (const char* key : {"train/cat/1.jpg", "val/cat/2.jpg", "stray.jpg"})
    WriteJpeg(folder / "source" / key, MakePicture(20, 20));
  const Outcome outcome = Sluice(
      {"convert", (folder / "source").string(), (folder / "data").string(), "--split-folders"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(
      outcome.err,
      Catch::Matchers::ContainsSubstring(
          "1 image lies in none of the folders of parts and is left out, such as stray.jpg"));
}

TEST_CASE("files of several splits are recognised by their names or folders, and are not mixed") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 1);
  const auto [train, val] = GENERATE(Catch::Generators::table<const char*, const char*>({
      {"train-0.tar", "val-0.tar"},
      {"train/0000.tar", "val/0000.tar"},
      {"cifar-train.tar", "cifar-val.tar"},
      {"x-train.tfrecord-00000-of-00001", "x-val.tfrecord-00000-of-00001"},
  }));
  CAPTURE(train);
  for (const auto& [file, name] : {std::pair(train, "cat owl"), {val, "cat dog"}}) {
    std::filesystem::create_directories((folder / file).parent_path());
    const std::string command = "cd '" + (folder / "source").string() + "' && tar -cf '" +
                                (folder / file).string() + "' " + name;
    REQUIRE(std::system(command.c_str()) == 0);  // NOLINT
  }
  const Words mixed = {"convert", (folder / train).string(), (folder / val).string(),
                       (folder / "data").string()};
  const Outcome refused = Sluice(mixed);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Catch::Matchers::ContainsSubstring("of the splits train and val") &&
                              Catch::Matchers::ContainsSubstring("--split-folders"));
  Words appended = mixed;
  appended[0] = "append";
  CHECK(Sluice(appended).exit_code == 2);
  Words apart = mixed;
  apart.push_back("--split-folders");
  const Outcome outcome = Sluice(apart);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(KeysOf(folder / "data/train") == std::set<std::string>{"cat/0", "owl/0"});
  CHECK(KeysOf(folder / "data/val") == std::set<std::string>{"cat/0", "dog/0"});
  // One split's files are not several splits, and a file without a split is refused.
  const Outcome one =
      Sluice({"convert", (folder / train).string(), (folder / "one").string(), "--split-folders"});
  CHECK(one.exit_code == 2);
  CHECK_THAT(one.err, Catch::Matchers::ContainsSubstring("all of the split train"));
}

TEST_CASE("archives of several splits have the same class numbers") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 1);
  const auto add = [&](const char* name, const Words& classes) {
    std::filesystem::create_directories(folder / name);
    for (const std::string& one : classes) {
      std::filesystem::copy(folder / "source" / one / "0.jpg", folder / name / (one + ".jpg"));
      WriteBytes(folder / name / (one + ".cls"), one);
    }
    const std::string command =
        "cd '" + (folder / name).string() + "' && tar -cf '" + (folder / name).string() + ".tar' *";
    REQUIRE(std::system(command.c_str()) == 0);  // NOLINT
  };
  add("train", {"dog", "owl"});
  add("val", {"cat", "owl"});
  const Outcome outcome =
      Sluice({"convert", (folder / "train.tar").string(), (folder / "val.tar").string(),
              (folder / "data").string(), "--split-folders"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  const auto classes = [&](const char* name) {
    return Dataset::Open(folder / "data" / name).schema().fields[1].classes;
  };
  CHECK(classes("train") == Words{"dog", "owl", "cat"});
  CHECK(classes("val") == classes("train"));
}

TEST_CASE("YOLO's images and labels are split together, and convert suggests --yolo for them") {
  const TemporaryFolder folder;
  const bool roboflow = GENERATE(true, false);
  CAPTURE(roboflow);
  for (const std::string part : {"train", "valid"}) {
    const std::string images = roboflow ? part + "/images/" : "images/" + part + "/";
    const std::string labels = roboflow ? part + "/labels/" : "labels/" + part + "/";
    WriteJpeg(folder / "set" / (images + part + "1.jpg"), MakePicture(20, 20));
    WriteBytes(folder / "set" / (labels + part + "1.txt"), "1 0.5 0.5 0.5 0.5\n");
  }
  WriteBytes(folder / "set/data.yaml", "nc: 2\nnames: [cat, dog]\n");
  const std::string set = (folder / "set").string();
  const Outcome plain = Sluice({"convert", set, (folder / "data").string()});
  CHECK(plain.exit_code == 2);
  CHECK_THAT(plain.err, Catch::Matchers::ContainsSubstring("--yolo"));
  if (roboflow) {
    const Outcome folders = Sluice({"convert", set, (folder / "data").string(), "--split-folders"});
    CHECK(folders.exit_code == 2);
    CHECK_THAT(folders.err, Catch::Matchers::ContainsSubstring("--yolo"));
  }
  const Words mixed = {"convert", "--yolo", set, set, (folder / "data").string()};
  const Outcome refused = Sluice(mixed);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Catch::Matchers::ContainsSubstring("several splits, train/ and valid/") &&
                              Catch::Matchers::ContainsSubstring("--split-folders"));
  Words apart = mixed;
  apart.push_back("--split-folders");
  const Outcome outcome = Sluice(apart);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  const std::string beneath = roboflow ? "images/" : "";
  for (const std::string part : {"train", "valid"}) {
    const Dataset dataset = Dataset::Open(folder / "data" / part);
    CHECK(dataset.size() == 1);
    CHECK(dataset[0].key() == beneath + part + "1.jpg");
    CHECK(dataset.schema().fields[2].classes == Words{"cat", "dog"});
  }
}

TEST_CASE("at a terminal, convert asks whether train and val are parts of a split") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteJpeg(folder / "source/train/cat/1.jpg", MakePicture(20, 20));
  WriteJpeg(folder / "source/val/cat/1.jpg", MakePicture(20, 20));
  const auto run = [&](const char* data, const char* typed) {
    return Sluice({"convert", at("source"), at(data)}, {.terminal_columns = 80, .typed = typed});
  };
  const Outcome yes = run("yes", "y\n");
  CHECK(yes.exit_code == 0);
  CHECK_THAT(yes.err, Catch::Matchers::ContainsSubstring("holds train/, val/: make a dataset of"));
  CHECK(Dataset::Open(folder / "yes/val").size() == 1);
  const Outcome no = run("no", "\n");
  CHECK(no.exit_code == 2);
  CHECK_THAT(no.err, Catch::Matchers::ContainsSubstring("--labels"));
}

TEST_CASE("masks of the parts lie in folders with the parts' names") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  for (const char* key : {"train/cat/1", "val/cat/1"}) {
    WriteJpeg(folder / "source" / (std::string(key) + ".jpg"), MakePicture(2, 1));
    WriteBytes(folder / "masks" / (std::string(key) + ".png"),
               std::string("\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00"
                           "\x00\x00\x02\x00\x00\x00\x01\x08\x00\x00\x00\x00\xd1\x49\x20\x56\x00"
                           "\x00\x00\x0b\x49\x44\x41\x54\x78\x9c\x63\x60\x64\x02\x00\x00\x07\x00"
                           "\x04\x76\x49\xe3\x28\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82",
                           68));
  }
  const Outcome outcome =
      Sluice({"convert", at("source"), at("data"), "--split-folders", "--mask-dir", at("masks")});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(Dataset::Open(folder / "data/val").schema().fields.size() == 3);
}

TEST_CASE("a picture that several parts of a split have is named, with a path in two of them") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteClasses(at("source"), 10, 20, 16);
  // So many copies of one picture that each part gets some, however they are dealt.
  for (int i = 0; i < 8; ++i)
    WriteJpeg(folder / ("source/owl/same" + std::to_string(i) + ".jpg"), MakePicture(24, 24));
  const Words words = {"convert", at("source"),        at("data"),
                       "--split", "train=0.5,val=0.5", "--find-duplicates"};
  const Outcome outcome = Sluice(words);
  CHECK(outcome.exit_code == 0);
  std::string trained;
  std::string tested;
  for (const auto& [part, key] : {std::pair("train", &trained), std::pair("val", &tested)}) {
    for (const std::string& one : KeysOf(folder / "data" / part)) {
      if (key->empty() && one.starts_with("owl/same")) *key = part + (": " + one);
    }
  }
  CHECK_THAT(outcome.err, Catch::Matchers::ContainsSubstring(
                              "1 picture is in more than one part with the same bytes, such as " +
                              trained + " and " + tested));
  std::ifstream list(folder / "data/duplicates.tsv");
  std::string line;
  std::getline(list, line);
  CHECK(line == "group\tpart\tpath\tclass");
  std::set<std::string> parts;
  std::size_t lines = 0;
  for (; std::getline(list, line); ++lines) {
    CHECK(line.starts_with("0\t"));
    CHECK(line.ends_with("\towl"));
    parts.insert(line.substr(2, line.find('\t', 2) - 2));
  }
  CHECK(lines == 8);
  CHECK(parts == std::set<std::string>{"train", "val"});
  // A dry run reports the same and writes nothing.
  const Outcome dry = Sluice({"convert", at("source"), at("dry"), "--split", "train=0.5,val=0.5",
                              "--find-duplicates", "--dry-run", "--json"});
  CHECK(JsonOf(dry)["shared"].size() == 1);
  CHECK(JsonOf(dry)["shared"][0].size() == 8);
  CHECK_FALSE(std::filesystem::exists(folder / "dry"));
}

TEST_CASE("pictures that several folders share are found, and others of the same size are not") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  const auto picture = [](char value) {  // a BMP of one pixel, so that all have one size
    std::string bmp("BM\x3A\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\1\0\0\0\1\0\0\0\1\0\x18\0", 30);
    bmp.resize(54);
    return bmp + std::string(3, value) + '\0';
  };
  WriteBytes(folder / "train/cat/1.bmp", picture('a'));
  WriteBytes(folder / "train/cat/2.bmp", picture('b'));
  WriteBytes(folder / "train/owl/2.bmp", picture('b'));  // twice, but in one part
  WriteBytes(folder / "val/owl/9.bmp", picture('a'));
  WriteBytes(folder / "val/owl/8.bmp", picture('c'));
  const Outcome outcome =
      Sluice({"convert", at("train"), at("val"), at("data"), "--find-duplicates", "--json"});
  CHECK(outcome.exit_code == 0);
  const nlohmann::json answer = JsonOf(outcome);
  CHECK(answer["shared"] ==
        nlohmann::json::parse(R"([[{"part":"train","path":"cat/1.bmp","class":"cat"},
                                   {"part":"val","path":"owl/9.bmp","class":"owl"}]])"));
  CHECK(answer["warnings"][0] ==
        "1 picture is in more than one part with the same bytes, such as train: cat/1.bmp and val: "
        "owl/9.bmp");
  CHECK(answer["parts"]["train"]["duplicates"].size() == 1);
  std::filesystem::remove(folder / "val/owl/9.bmp");
  const Outcome apart =
      Sluice({"convert", at("train"), at("val"), at("data2"), "--find-duplicates"});
  CHECK(apart.exit_code == 0);
  CHECK_THAT(apart.out, Catch::Matchers::ContainsSubstring("no picture is in more than one part"));
}

}  // namespace sluice::test
