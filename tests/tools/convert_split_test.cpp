// sluice convert --split, --split-by and --split-folders, and several sources at once.
#include <cmath>
#include <fstream>
#include <map>
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

namespace {

// A table of 40 pictures in two classes. Each of 8 senders sent 1 to 9 of them.
struct SendersTable {
  TemporaryFolder folder;
  std::map<std::string, std::string> sender_of;  // by key
  SendersTable() {
    const int counts[] = {1, 9, 2, 8, 3, 7, 4, 6};
    std::string text = "file,label,sender_id\n";
    int picture = 0;
    for (int sender = 0; sender < 8; ++sender) {
      for (int i = 0; i < counts[sender]; ++i, ++picture) {
        const std::string key = std::to_string(picture) + ".jpg";
        WriteJpeg(folder / "source" / key, MakePicture(8, 8));
        sender_of[key] = "s" + std::to_string(sender);
        text += key + "," + (i % 2 == 0 ? "cat" : "dog") + "," + sender_of[key] + "\n";
      }
    }
    text += "0.jpg,cat,\n";  // a picture whose sender is unknown
    WriteBytes(folder / "source/table.csv", text);
  }
  std::string At(const std::string& name) const { return (folder / name).string(); }
  Outcome Split(const std::string& data, const Words& more) const {
    Words words = {"convert", "--table", At("source/table.csv"), At(data)};
    words.insert(words.end(), more.begin(), more.end());
    return Sluice(words);
  }
  std::set<std::string> SendersIn(const std::string& part) const {
    std::set<std::string> senders;
    for (const std::string& key : KeysOf(folder / part))
      senders.insert(sender_of.at(key));
    return senders;
  }
};

}  // namespace

TEST_CASE("a split by a column puts all rows of one value into one part") {
  const SendersTable table;
  const Words by_sender = {"--split", "train=0.5,val=0.3,test=0.2", "--split-by", "sender_id"};
  const Outcome outcome = table.Split("data", by_sender);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 3);  // the row without a sender is left out
  CHECK_THAT(ContentOf(table.At("data/train/skipped.tsv")),
             Catch::Matchers::ContainsSubstring("column sender_id: has no value to split by"));
  std::set<std::string> senders;
  std::size_t samples = 0, values = 0;
  for (const auto& [part, share] : {std::pair("train", 0.5), {"val", 0.3}, {"test", 0.2}}) {
    const std::string name = std::string("data/") + part;
    const std::set<std::string> here = table.SendersIn(name);
    senders.insert(here.begin(), here.end());
    values += here.size();
    const Dataset dataset = Dataset::Open(table.At(name));
    samples += dataset.size();
    // Senders are not divided, so each end of a part is off by at most half of the largest sender's
    // 9 pictures, and the size of the part by at most 9.
    CHECK(std::abs(static_cast<double>(dataset.size()) - 40 * share) <= 9);
    CHECK(dataset.schema().fields.size() == 2);  // the column is not a field
    CHECK(dataset.schema().fields[1].classes == std::vector<std::string>{"cat", "dog"});
  }
  CHECK(samples == 40);
  CHECK(senders.size() == 8);
  CHECK(values == 8);  // no sender is in two parts
  // The part depends on the value and on --split-seed alone: not on the rows' order or keys.
  std::string text = ContentOf(table.At("source/table.csv"));
  std::vector<std::string> lines;
  for (std::size_t at = text.find('\n') + 1; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) + 1 - at));
  std::string turned = "file,label,sender_id\n";
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    turned += *line;
  WriteBytes(table.folder / "source/table.csv", turned);
  CHECK(table.Split("same", by_sender).exit_code == 3);
  CHECK(table.SendersIn("same/val") == table.SendersIn("data/val"));
  Words other = by_sender;
  other.insert(other.end(), {"--split-seed", "3"});
  CHECK(table.Split("other", other).exit_code == 3);
  CHECK(table.SendersIn("other/train") != table.SendersIn("data/train"));
}

TEST_CASE("a split by a column needs the column, and values for each part") {
  const SendersTable table;
  const Outcome missing = table.Split("a", {"--split", "a=0.5,b=0.5", "--split-by", "patient"});
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.err, Catch::Matchers::ContainsSubstring(
                              "has no column \"patient\"; it has: file, label, sender_id"));
  std::string parts = "a=0.1";
  for (char name = 'b'; name <= 'j'; ++name)
    parts += std::string(",") + name + "=0.1";
  const Outcome few = table.Split("b", {"--split", parts, "--split-by", "sender_id"});
  CHECK(few.exit_code == 1);
  CHECK_THAT(few.err, Catch::Matchers::ContainsSubstring(
                          table.At("source/table.csv") +
                          ": has too few values in the column \"sender_id\""));
  CHECK_FALSE(std::filesystem::exists(table.folder / "b"));
  std::filesystem::create_directory(table.folder / "tar");
  const std::string command =
      "tar -C '" + table.At("source") + "' -cf '" + table.At("tar/x.tar") + "' 0.jpg 1.jpg 2.jpg";
  REQUIRE(std::system(command.c_str()) == 0);  // NOLINT
  const Outcome archive = Sluice({"convert", table.At("tar/x.tar"), table.At("c"), "--split",
                                  "a=0.5,b=0.5", "--split-by", "sender_id"});
  CHECK(archive.exit_code == 2);
  CHECK_THAT(archive.err, Catch::Matchers::ContainsSubstring("is an archive without columns"));
}

TEST_CASE("Parquet files are split by a column, and rows that --group joins must agree in it") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  // By write_parquet.py, rows with an odd number are ants, and "good" is false in the first three.
  REQUIRE(Sluice({"convert", SLUICE_GOLDENS "/plain.parquet", at("data"), "--field", "label=class",
                  "--split", "train=0.5,val=0.5", "--split-by", "good"})
              .exit_code == 0);
  const std::set<std::string> first = {"0.png", "2.png", "plain/0000001"};
  const std::set<std::string> train = KeysOf(folder / "data/train");
  CHECK(KeysOf(folder / "data/train").size() == 3);
  CHECK((train == first || KeysOf(folder / "data/val") == first));

  for (const char* name : {"1.jpg", "2.jpg", "3.jpg"})
    WriteJpeg(folder / name, MakePicture(8, 8));
  WriteBytes(folder / "rows.csv",
             "path,tags,who\n1.jpg,a,x\n1.jpg,b,x\n2.jpg,a,y\n3.jpg,a,x\n3.jpg,b,y\n");
  const Outcome grouped =
      Sluice({"convert", "--table", at("rows.csv"), at("grouped"), "--group", "--field",
              "tags=classes", "--split", "train=0.5,val=0.5", "--split-by", "who"});
  INFO(grouped.err);
  CHECK(grouped.exit_code == 3);
  CHECK_THAT(ContentOf(at("grouped/train/skipped.tsv")),
             Catch::Matchers::ContainsSubstring("column who has another value"));
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

TEST_CASE("without --mask-folder, --split-folders looks for masks nowhere") {
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
  CHECK_THAT(none.err, Catch::Matchers::ContainsSubstring("--follow-links includes"));
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
  // Files of one split alone are refused, since there is nothing to separate.
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

TEST_CASE(
    "convert suggests --dota for trees of DOTA's, and splits their images and labels together") {
  const TemporaryFolder folder;
  for (const std::string part : {"train", "val"}) {
    WriteJpeg(folder / "set" / part / "images/P1.jpg", MakePicture(20, 20));
    WriteBytes(folder / "set" / part / "labelTxt/P1.txt", "1 1 9 1 9 9 1 9 ship 0\n");
  }
  const std::string set = (folder / "set").string();
  for (const Words& options : {Words{}, Words{"--split-folders"}}) {
    Words words = {"convert", set, (folder / "data").string()};
    words.insert(words.end(), options.begin(), options.end());
    const Outcome plain = Sluice(words);
    CHECK(plain.exit_code == 2);
    CHECK_THAT(plain.err, Catch::Matchers::ContainsSubstring("labelTxt/") &&
                              Catch::Matchers::ContainsSubstring("--dota " + set + " " + set));
  }
  const Outcome outcome =
      Sluice({"convert", "--dota", set, set, (folder / "data").string(), "--split-folders"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  for (const std::string part : {"train", "val"}) {
    const Dataset dataset = Dataset::Open(folder / "data" / part);
    REQUIRE(dataset.size() == 1);
    CHECK(dataset[0].Array<float>("boxes").size() == 8);
    CHECK(dataset.schema().fields[2].classes == Words{"ship"});
  }
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
    // A grey PNG of the same size.
    WriteBytes(folder / "masks" / (std::string(key) + ".png"),
               std::string("\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00"
                           "\x00\x00\x02\x00\x00\x00\x01\x08\x00\x00\x00\x00\xd1\x49\x20\x56\x00"
                           "\x00\x00\x0b\x49\x44\x41\x54\x78\x9c\x63\x60\x64\x02\x00\x00\x07\x00"
                           "\x04\x76\x49\xe3\x28\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82",
                           68));
  }
  const Outcome outcome = Sluice(
      {"convert", at("source"), at("data"), "--split-folders", "--mask-folder", at("masks")});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(Dataset::Open(folder / "data/val").schema().fields.size() == 3);
}

TEST_CASE("a picture that several parts of a split have is named, with a path in two of them") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteClasses(at("source"), 10, 20, 16);
  // So many copies of one picture that it is very unlikely for all of them to be in one part.
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
