// sluice convert: the kinds of sources that it reads.
#include <cstdlib>

#include <sluice/dataset.h>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

struct ClassFolders {
  TemporaryFolder folder;
  std::string source = (folder / "source").string();
  std::string data = (folder / "data").string();
  ClassFolders() { WriteClasses(source, 3); }
};

}  // namespace

TEST_CASE("option --table reads a table, and --field its columns") {
  const ClassFolders folders;
  WriteBytes(folders.source + "/t.csv",
             "path,label,bbox,what\ncat/0.jpg,a,\"1 2 3 4\",x\ndog/1.jpg,b,,\n");
  const Outcome outcome =
      Sluice({"convert", "--table", folders.source + "/t.csv", folders.data, "--field",
              "label=class", "--field", "bbox=boxes:xywh,name=objects", "--field=what=text"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  const Dataset dataset = Dataset::Open(folders.data);
  CHECK(dataset.size() == 2);
  for (std::uint64_t i = 0; i < 2; ++i) {
    const Sample sample = dataset[i];
    if (sample.key() != "cat/0.jpg") continue;
    const std::span<const float> box = sample.Array<float>("objects");
    CHECK(std::vector<float>(box.begin(), box.end()) == std::vector<float>{1, 2, 4, 6});
    CHECK(sample.Text("what") == "x");
  }
}

TEST_CASE(
    "turned images with boxes give a warning, and --as-stored or --upright say how boxes were "
    "drawn") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  // A JPEG whose Exif segment says that it is to be turned by 180 degrees: orientation 3.
  std::string jpeg;
  {
    WriteJpeg(folder / "source/a.jpg", Noise(40, 30));
    jpeg = ContentOf(folder / "source/a.jpg");
  }
  const std::string exif = std::string(
                               "\xff\xe1\x00\x22"
                               "Exif\0\0"
                               "MM\0\x2a\0\0\0\x08\0\x01",
                               20) +
                           std::string("\x01\x12\0\x03\0\0\0\x01\0\x03\0\0\0\0\0\0", 16);
  WriteBytes(folder / "source/a.jpg", jpeg.substr(0, 2) + exif + jpeg.substr(2));
  WriteBytes(folder / "source/t.csv", "path,at\na.jpg,1 2 3 4\n");
  const auto convert = [&](Words more) {
    std::filesystem::remove_all(data);
    Words words = {"convert", "--table", (folder / "source/t.csv").string(),
                   data,      "--field", "at=boxes"};
    words.insert(words.end(), more.begin(), more.end());
    return Sluice(words);
  };
  const auto box = [&] {
    const Dataset dataset = Dataset::Open(data);
    const Sample sample = dataset[0];
    const std::span<const float> corners = sample.Array<float>("at");
    return std::vector<float>(corners.begin(), corners.end());
  };
  const Outcome usual = convert({});
  CHECK(usual.exit_code == 0);
  CHECK_THAT(usual.err, ContainsSubstring("1 image is turned or mirrored"));
  CHECK_THAT(usual.err, ContainsSubstring("such as a.jpg"));
  CHECK_THAT(usual.err, ContainsSubstring("--as-stored"));
  CHECK(box() == std::vector<float>{1, 2, 3, 4});
  const nlohmann::json answer = JsonOf(convert({"--json"}));
  CHECK(answer["turned"] == nlohmann::json{{"count", 1}, {"examples", {"a.jpg"}}});
  CHECK(answer["warnings"].size() == 1);
  const Outcome upright = convert({"--upright"});
  CHECK_THAT(upright.err, !ContainsSubstring("turned"));
  CHECK(box() == std::vector<float>{1, 2, 3, 4});
  const Outcome stored = convert({"--as-stored"});
  CHECK_THAT(stored.err, !ContainsSubstring("turned"));
  CHECK(box() == std::vector<float>{37, 26, 39, 28});
  CHECK(convert({"--as-stored", "--upright"}).exit_code == 2);
}

TEST_CASE("a table's paths are relative to SOURCE") {
  const ClassFolders folders;
  const std::string table = (folders.folder / "t.jsonl").string();
  WriteBytes(table, "{\"file\":\"0.jpg\",\"label\":\"c\"}\n{\"file\":\"9.jpg\",\"label\":\"c\"}\n");
  const Outcome outcome =
      Sluice({"convert", "--table", table, folders.source + "/cat", folders.data, "--json"});
  CHECK(outcome.exit_code == 3);
  const nlohmann::json answer = JsonOf(outcome);
  CHECK(answer["samples"] == 1);
  CHECK_THAT(answer["skipped_list"][0]["reason"].get<std::string>(),
             ContainsSubstring("t.jsonl, line 2: its image cannot be opened"));
}

TEST_CASE("if no image of a table exists, the error says where it looked and what is there") {
  const ClassFolders folders;
  const std::string table = (folders.folder / "t.csv").string();
  const auto refusal = [&](const std::string& path, const std::string& source) {
    WriteBytes(table, "path\n" + path + "\n");
    const Outcome outcome = Sluice({"convert", "--table", table, source, folders.data});
    CHECK(outcome.exit_code == 1);
    return outcome.err;
  };
  const std::string source = folders.source;
  CHECK_THAT(refusal("dog/9.jpg", source),
             ContainsSubstring("paths are relative to the folder " + source +
                               ", which holds 9 files, such as cat/0.jpg\n"));
  CHECK_THAT(refusal("0.jpg", source),
             ContainsSubstring("give the folder " + source + "/cat, which holds 0.jpg\n"));
  CHECK_THAT(refusal("cat/0", (folders.folder / "").string()),
             ContainsSubstring("give the folder " + source + ", which holds cat/0.jpg\n"));
  CHECK_THAT(refusal("0.jpg", source + "/emu"), ContainsSubstring("/emu, which does not exist\n"));
}

TEST_CASE("a source that is missing is named, whatever --field says of it") {
  const ClassFolders folders;
  const std::string missing = (folders.folder / "missing.records").string();
  const Outcome outcome = Sluice({"convert", missing, folders.data, "--field", "x=int"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring(missing + ": does not exist"));
}

TEST_CASE("a source without images is refused with what it is instead") {
  const ClassFolders folders;
  const std::string other = (folders.folder / "other").string();
  std::filesystem::create_directory(other);
  CHECK_THAT(Sluice({"convert", other, folders.data}).err, ContainsSubstring("it holds no file\n"));
  REQUIRE(Sluice({"convert", folders.source, folders.data}).exit_code == 0);
  for (const Words& command :
       {Words{"convert", folders.data, other + "2"}, Words{"append", folders.data, folders.data}}) {
    const Outcome outcome = Sluice(command);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err,
               ContainsSubstring("is a dataset, not images; `sluice merge` joins datasets"));
  }
  const Outcome shard = Sluice({"convert", folders.data + "/shard-00000.sluice", other + "2"});
  CHECK(shard.exit_code == 2);
  CHECK_THAT(shard.err, ContainsSubstring("shard-00000.sluice: is a shard of a Sluice dataset") &&
                            ContainsSubstring("give the folder of the whole dataset"));
}

TEST_CASE("a damaged table ends with 1 and names its line, a missing column ends with 2") {
  const ClassFolders folders;
  const std::string table = folders.source + "/t.csv";
  WriteBytes(table, "path,label\ncat/0.jpg,a\n\"cat/1.jpg\n");
  const Outcome damaged = Sluice({"convert", "--table", table, folders.data});
  CHECK(damaged.exit_code == 1);
  CHECK_THAT(damaged.err, ContainsSubstring("t.csv: line 3: "));
  const Outcome missing =
      Sluice({"convert", "--table", table, folders.data, "--field", "size=int"});
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.err, ContainsSubstring("it has: path, label"));
}

TEST_CASE("option --paths reads a list from standard input or a file, by lines or zero bytes") {
  const ClassFolders folders;
  WriteBytes(folders.folder / "lines",
             "\xef\xbb\xbf"
             "cat/0.jpg\r\n\ndog/1.jpg\n");
  WriteBytes(folders.folder / "zeros", std::string("cat/0.jpg\0dog/1.jpg\0owl/2.jpg\0", 30));
  RunOptions options;
  options.in_file = folders.folder / "lines";
  CHECK(Sluice({"convert", "--paths", "-", folders.source, folders.data}, options).exit_code == 0);
  CHECK(Dataset::Open(folders.data).size() == 2);
  // To resume, the list need not be given again.
  std::filesystem::remove(folders.data + "/manifest.json");
  CHECK(Sluice({"convert", "--paths", "-", folders.source, folders.data}).exit_code == 0);
  const std::string other = (folders.folder / "other").string();
  CHECK(Sluice({"convert", "--paths", (folders.folder / "zeros").string(), folders.source, other})
            .exit_code == 0);
  CHECK(Dataset::Open(other).size() == 3);
  const Outcome no_list = Sluice({"convert", "--paths", folders.source, folders.source, other});
  CHECK(no_list.exit_code == 2);
  CHECK_THAT(no_list.err, ContainsSubstring(folders.source + ": is a folder"));
}

TEST_CASE(
    "options --coco, --voc, --yolo and --dota read label files, and --take selects parts of them") {
  const ClassFolders folders;
  WriteBytes(folders.folder / "coco.json",
             R"({"images":[{"id":1,"file_name":"cat/0.jpg"}],"categories":[{"id":1,"name":"x"}],
                 "annotations":[{"image_id":1,"category_id":1,"bbox":[1,2,3,4],
                                 "segmentation":[[1,2,4,2,4,6]]}]})");
  WriteBytes(folders.folder / "voc/dog/1.xml",
             "<annotation><object><name>y</name><bndbox><xmin>2</xmin><ymin>3</ymin><xmax>4</xmax>"
             "<ymax>6</ymax></bndbox></object></annotation>");
  WriteBytes(folders.folder / "yolo/owl/2.txt", "0 0.5 0.5 0.5 0.5\n");
  WriteBytes(folders.folder / "dota/owl/2.txt", "0 0 9 0 9 9 0 9 owl 1\n");
  const auto run = [&](const char* option, const char* labels, const char* data,
                       std::size_t fields) {
    const Outcome outcome =
        Sluice({"convert", option, (folders.folder / labels).string(), folders.source,
                (folders.folder / data).string(), "--take", "boxes"});
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    const Dataset dataset = Dataset::Open(folders.folder / data);
    CHECK(dataset.schema().fields.size() == fields);
    return dataset.size();
  };
  CHECK(run("--coco", "coco.json", "1", 6) == 1);
  CHECK(run("--voc", "voc", "2", 4) == 1);
  CHECK(run("--yolo", "yolo", "3", 3) == 9);
  CHECK(run("--dota", "dota", "4", 4) == 9);
  CHECK(Sluice({"convert", "--coco", "x", "--yolo", "y", folders.source, folders.data}).exit_code ==
        2);
  const Outcome wrong =
      Sluice({"convert", "--coco", "x", "--take", "polygons", folders.source, folders.data});
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, ContainsSubstring("boxes, masks, keypoints, captions"));
}

TEST_CASE("option --classes numbers the classes") {
  const ClassFolders folders;
  WriteBytes(folders.folder / "names", "owl\nemu\ndog\ncat\n");
  const std::string names = (folders.folder / "names").string();
  CHECK(Sluice({"convert", folders.source, folders.data, "--classes", names}).exit_code == 0);
  CHECK(Dataset::Open(folders.data).class_counts() == std::vector<std::uint64_t>{3, 0, 3, 3});
  WriteBytes(folders.folder / "names", "owl\ndog\n");
  const Outcome refused =
      Sluice({"convert", folders.source, (folders.folder / "x").string(), "--classes", names});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err,
             ContainsSubstring(
                 "/cat: the sub-folder is not one of the 2 given classes; these are: owl, dog\n"));
}

TEST_CASE("option --classes-of numbers the classes like an existing dataset") {
  const ClassFolders folders;
  REQUIRE(Sluice({"convert", folders.source, folders.data}).exit_code == 0);
  const std::string table = folders.source + "/val.csv";
  WriteBytes(table, "path,label\ncat/0.jpg,owl\ndog/0.jpg,cat\n");
  const std::string later = (folders.folder / "later").string();
  CHECK(Sluice({"convert", "--table", table, later, "--classes-of", folders.data}).exit_code == 0);
  CHECK(Dataset::Open(later).class_counts() == std::vector<std::uint64_t>{1, 0, 1});
  const Outcome none = Sluice({"convert", folders.source, later, "--classes-of", folders.source});
  CHECK(none.exit_code == 1);
  CHECK_THAT(none.err, ContainsSubstring("manifest.json"));
}

TEST_CASE("option --numbers uses folder names as class numbers, in each of several parts") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  for (const char* key : {"train/2/1.jpg", "train/10/1.jpg", "val/2/1.jpg", "val/1/1.jpg"})
    WriteJpeg(folder / key, MakePicture(20, 20));
  const Outcome by_name = Sluice({"convert", at("train"), at("val"), at("data")});
  CHECK(by_name.exit_code == 0);
  CHECK_THAT(by_name.err, ContainsSubstring("\"1\" is class 0; if all names are whole numbers"));
  CHECK(Sluice({"convert", at("train"), at("val"), at("numbers"), "--numbers"}).exit_code == 0);
  CHECK(Dataset::Open(folder / "numbers/train").class_counts().at(10) == 1);
  CHECK(Dataset::Open(folder / "numbers/val").class_counts().size() == 11);
  CHECK(Dataset::Open(folder / "numbers/val").class_counts().at(2) == 1);
}

TEST_CASE("tar files are converted, several into one dataset") {
  const ClassFolders folders;
  for (const char* name : {"cat", "dog"}) {
    const std::string command = "tar -C '" + folders.source + "' -cf '" +
                                (folders.folder / name).string() + ".tar' " + name;
    REQUIRE(std::system(command.c_str()) == 0);  // NOLINT
  }
  const Outcome outcome = Sluice({"convert", (folders.folder / "cat.tar").string(),
                                  (folders.folder / "dog.tar").string(), folders.data});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("6 samples without labels"));
}

TEST_CASE(
    "Parquet files are converted with the requested columns, and those of several splits "
    "separately") {
  const ClassFolders folders;
  const auto at = [&](const char* name) { return (folders.folder / name).string(); };
  for (const char* name : {"train-0.parquet", "train-1.parquet", "test-0.parquet"})
    std::filesystem::copy(SLUICE_GOLDENS "/plain.parquet", at(name));
  const Outcome one = Sluice({"convert", at("train-0.parquet"), at("one"), "--field",
                              "objects.bbox=boxes:xywh,name=boxes", "--field", "caption=text"});
  INFO(one.err);
  CHECK(one.exit_code == 0);
  CHECK(Dataset::Open(at("one")).schema().fields.size() == 3);
  const Words all = {"convert", at("train-0.parquet"), at("train-1.parquet"), at("test-0.parquet"),
                     at("data")};
  const Outcome mixed = Sluice(all);
  CHECK(mixed.exit_code == 2);
  CHECK_THAT(mixed.err, ContainsSubstring("of the splits test and train"));
  Words apart = all;
  apart.push_back("--split-folders");
  CHECK(Sluice(apart).exit_code == 0);
  CHECK(Dataset::Open(at("data/train")).size() == 12);
  CHECK(Dataset::Open(at("data/test")).size() == 6);
  CHECK(Sluice({"convert", at("train-0.parquet"), at("no"), "--labels", "none"}).exit_code == 0);
  CHECK(Dataset::Open(at("no")).schema().Find("label") == Schema::kNone);
}

TEST_CASE("options of the source that contradict each other are wrong usage") {
  const ClassFolders folders;
  const std::string table = folders.source + "/t.csv";
  WriteBytes(table, "path,label\ncat/0.jpg,a\n");
  const auto [words, named] = GENERATE_REF(Catch::Generators::table<Words, std::string>({
      {{"--table", table, "--paths", "-"}, "--paths"},
      {{"--field", "a=text"}, "--table"},
      {{"--path-column", "a"}, "--table"},
      {{"--table", table, "--field", "a"}, "COLUMN=TYPE"},
      {{"--table", table, "--field", "label=word"}, "class, classes"},
      {{"--table", table, "--field", "label=boxes:yxyx"}, "xyxy, xywh"},
      {{"--table", table, "--field", "label=text:x"}, "not a form of text"},
      {{"--table", table, "--field", "label=text,name="}, "no name"},
      {{"--table", table, "--field", "label=text,classes=/proc/version"}, "takes no classes"},
      {{"--table", table, "--classes", "/proc/version", "--field",
        "label=class,classes=/proc/version"},
       "give only one"},
      {{"--classes", "/dev/null"}, "no names of classes"},
      {{"--numbers", "--classes", "/dev/null"}, "--numbers"},
      {{"--classes-of", "x", "--classes", "/dev/null"}, "--classes-of"},
      {{"--classes-of", "x", "--no-labels"}, "--classes-of"},
      {{"--table", table, folders.source}, "one folder"},
  }));
  CAPTURE(words);
  Words all = {"convert", folders.source};
  all.insert(all.end(), words.begin(), words.end());
  all.push_back(folders.data);
  const Outcome outcome = Sluice(all);
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring(named));
  CHECK_FALSE(std::filesystem::exists(folders.data));
}

}  // namespace sluice::test
