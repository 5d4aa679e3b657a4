// Which files of a source folder become samples, which classes these have, and what a conversion
// reports about the other files.
#include <algorithm>

#include <sys/stat.h>

#include <sluice/convert.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Strings = std::vector<std::string>;

struct ClassFolders : TemporaryFolder {
  const std::filesystem::path source = path() / "source";
  const std::filesystem::path data = path() / "data";

  void Add(const std::string& key, std::uint64_t seed = 1) const {
    WriteSource(source / key, MakeJpeg(MakePicture(24, 20, 3, seed)));
  }
  ConvertSummary Run(ConvertOptions options = {}) const {
    options.shards.keep_order = true;
    return Convert(source, data, options);
  }
};

Strings PathsOf(const std::vector<LeftOut>& files) {
  Strings paths;
  for (const LeftOut& file : files)
    paths.push_back(file.path);
  return paths;
}

bool Mentions(const Strings& texts, const std::string& what) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(what) != std::string::npos; });
}

}  // namespace

TEST_CASE("each sub-folder is a class, numbered in byte order of the names") {
  const ClassFolders folders;
  for (const char* key : {"b/1.jpg", "B/1.jpg", "a/1.jpg", "a/2.jpg", "\xc3\xa4/1.jpg"}) {
    folders.Add(key);
  }
  const ConvertSummary summary = folders.Run();
  CHECK(summary.classes == Strings{"B", "a", "b", "\xc3\xa4"});
  CHECK(summary.class_counts == std::vector<std::uint64_t>{1, 2, 1, 1});
  const StoredDataset data = ReadDataset(folders.data);
  CHECK(data.Keys() == Strings{"B/1.jpg", "a/1.jpg", "a/2.jpg", "b/1.jpg", "\xc3\xa4/1.jpg"});
  CHECK(data.Find("B/1.jpg").Label() == 0);
  CHECK(data.Find("a/2.jpg").Label() == 1);
  CHECK(data.Find("\xc3\xa4/1.jpg").Label() == 3);
  CHECK(data.manifest.schema.fields.at(1).classes == summary.classes);
  CHECK(data.manifest.class_counts == summary.class_counts);
}

TEST_CASE("files in nested folders belong to the class of the outermost folder") {
  const ClassFolders folders;
  folders.Add("a/x/y/1.jpg");
  folders.Add("b/1.jpg");
  folders.Run();
  const StoredDataset data = ReadDataset(folders.data);
  CHECK(data.manifest.schema.fields.at(1).classes == Strings{"a", "b"});
  CHECK(data.Find("a/x/y/1.jpg").Label() == 0);
}

TEST_CASE("a folder that holds all the others is not a class") {
  const ClassFolders folders;
  for (const char* key : {"set/set/cat/1.jpg", "set/set/dog/deep/1.jpg"})
    folders.Add(key);
  const ConvertSummary summary = folders.Run();
  CHECK(summary.classes == Strings{"cat", "dog"});
  CHECK(Mentions(summary.warnings, "set/set/ holds all images, so it is not a class;"));
  CHECK(ReadDataset(folders.data).Keys() == Strings{"set/set/cat/1.jpg", "set/set/dog/deep/1.jpg"});
  const ClassFolders own;  // an image directly in the outermost folder makes that folder a class
  own.Add("set/cat/1.jpg");
  own.Add("set/2.jpg");
  CHECK(own.Run().classes == Strings{"set"});
  const ClassFolders splits;
  for (const char* key : {"data/train/cat/1.jpg", "data/val/cat/1.jpg"})
    splits.Add(key);
  const auto error = ErrorOf([&] { splits.Run(); });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring("holds data/train/ and data/val/, which look") &&
                                    ContainsSubstring("--split-folders with SOURCE/data/"));
}

TEST_CASE(
    "names with a backslash give a warning: the folders of a zip file from Windows were lost") {
  const ClassFolders folders;
  for (const char* key : {"photos\\cat\\1.jpg", "photos\\dog\\2.jpg"})
    folders.Add(key);
  CHECK(Mentions(folders.Run().warnings, "2 images have a \\ in the name, such as photos\\cat"));
}

TEST_CASE("classes that differ in how their letters are composed give a warning") {
  const ClassFolders folders;
  for (const char* key : {"caf\xc3\xa9/1.jpg", "cafe\xcc\x81/1.jpg", "cafe/1.jpg"})
    folders.Add(key);
  const ConvertSummary summary = folders.Run();
  CHECK(summary.classes.size() == 3);
  REQUIRE(summary.warnings.size() == 1);
  CHECK(Mentions(summary.warnings, "two classes are called caf\xc3\xa9: one name has accented"));
}

TEST_CASE("folders inside a class folder give a warning that names them") {
  const ClassFolders folders;
  for (const char* key : {"city/cat/1.jpg", "city/dog/1.jpg", "farm/cat/1.jpg", "farm/2.jpg"})
    folders.Add(key);
  const ConvertSummary summary = folders.Run();
  CHECK(summary.classes == Strings{"city", "farm"});
  REQUIRE(summary.warnings.size() == 1);
  CHECK(summary.warnings[0] ==
        "city/ and farm/ hold folders of their own, such as city/cat/, and are classes themselves; "
        "to say what the classes are, use --labels top (the outermost folder), parent (the "
        "innermost) or none");
  const ClassFolders many;
  for (const char* key : {"a/x/1.jpg", "b/x/1.jpg", "c/x/1.jpg", "d/x/1.jpg", "e/1.jpg"})
    many.Add(key);
  CHECK(
      Mentions(many.Run().warnings, "a/, b/ and 2 more hold folders of their own, such as a/x/,"));
  const ClassFolders plain;
  plain.Add("a/1.jpg");
  CHECK(plain.Run().warnings.empty());
}

TEST_CASE("without labels images may lie anywhere, and no folder is a class") {
  const ClassFolders folders;
  for (const char* key : {"stray.jpg", "a/1.jpg", "b/deep/2.jpg"})
    folders.Add(key);
  std::filesystem::create_directories(folders.source / "empty");
  const auto run = [&](ConvertSource source, const char* data) {
    source.label.store = false;
    ConvertOptions options;
    options.shards.keep_order = true;
    const ConvertSummary summary = Convert(source, folders.path() / data, options);
    CHECK(summary.warnings.empty());
    const StoredDataset stored = ReadDataset(folders.path() / data);
    CHECK(stored.manifest.schema.fields.size() == 1);
    CHECK(stored.manifest.class_counts.empty());
    return stored.Keys();
  };
  CHECK(run(folders.source, "folder") == Strings{"a/1.jpg", "b/deep/2.jpg", "stray.jpg"});
  CHECK(run(ConvertSource::Paths({"b/deep/2.jpg", "stray.jpg"}, folders.source), "paths") ==
        Strings{"b/deep/2.jpg", "stray.jpg"});
  ConvertSource named = folders.source;
  named.label.store = false;
  named.label.classes = {"a", "b"};
  CHECK(ErrorOf([&] { Convert(named, folders.data); })->code() == ErrorCode::kInvalidArgument);
}

TEST_CASE("a dataset is named after its source") {
  const ClassFolders folders;
  const auto name = [&] {
    std::filesystem::remove_all(folders.data);
    folders.Run();
    return ReadDataset(folders.data).manifest.name;
  };
  folders.Add("ant/1.jpg");
  CHECK(name() == "images of ant");
  folders.Add("bee/1.jpg");
  folders.Add("cow/1.jpg");
  CHECK(name() == "images of ant, bee and cow");
  folders.Add("dog/1.jpg");
  CHECK(name() == "images of ant, bee and 2 more classes");
}

TEST_CASE("a flat folder makes samples without labels") {
  const ClassFolders folders;
  folders.Add("2.jpg");
  folders.Add("1.jpg");
  const ConvertSummary summary = folders.Run();
  CHECK(summary.classes.empty());
  const StoredDataset data = ReadDataset(folders.data);
  CHECK(data.manifest.schema.fields.size() == 1);
  CHECK(data.Keys() == Strings{"1.jpg", "2.jpg"});
  CHECK(data.manifest.name == "images");
}

TEST_CASE("a folder with images both directly and in sub-folders is refused, naming one of each") {
  const ClassFolders folders;
  folders.Add("stray.jpg");
  folders.Add("a/1.jpg");
  const auto error = ErrorOf([&] { folders.Run(); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kInvalidArgument);
  CHECK(error->sentence().find("stray.jpg") != std::string::npos);
  CHECK(error->sentence().find("a/1.jpg") != std::string::npos);
}

TEST_CASE(
    "folders named by numbers give a warning if their classes get different ones, and "
    "label.numbers keeps them") {
  const ClassFolders folders;
  for (const char* key : {"0/1.jpg", "2/1.jpg", "10/1.jpg"})
    folders.Add(key);
  ConvertSummary summary = folders.Run();
  CHECK(summary.classes == Strings{"0", "10", "2"});
  REQUIRE(summary.warnings.size() == 1);
  CHECK_THAT(
      summary.warnings[0],
      ContainsSubstring("\"10\" is class 1; if all names are whole numbers, --numbers keeps"));
  ConvertSource source = folders.source;
  source.label.numbers = true;
  summary = Convert(source, folders.path() / "numbers");
  CHECK(summary.class_counts == std::vector<std::uint64_t>{1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1});
  CHECK(ReadDataset(folders.path() / "numbers").Find("10/1.jpg").Label() == 10);
  folders.Add("unknown/1.jpg");
  const auto error = ErrorOf([&] { Convert(source, folders.path() / "more"); });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring("\"unknown\", which is not a whole number"));
  source.label.classes = {"0", "2", "10", "unknown"};
  CHECK(CodeOf([&] { Convert(source, folders.path() / "more"); }) == ErrorCode::kInvalidArgument);
  source.label.numbers = false;  // the user chose an order, so there is no warning
  CHECK(Convert(source, folders.path() / "more").warnings.empty());
}

TEST_CASE("folders whose names are their numbers give no warning") {
  const ClassFolders folders;
  for (const char* key : {"0/1.jpg", "1/1.jpg", "2/1.jpg", "A/1.jpg"})
    folders.Add(key);
  CHECK(folders.Run().warnings.empty());
}

TEST_CASE("label.classes_of gives a source the class numbers of another dataset") {
  const ClassFolders folders;
  for (const char* key : {"ant/1.jpg", "bee/1.jpg", "cow/1.jpg"})
    folders.Add(key);
  folders.Run();
  std::filesystem::remove_all(folders.source / "bee");
  ConvertSource source = folders.source;
  source.label.classes_of = folders.data;
  CHECK(FindClasses(source) == Strings{"ant", "bee", "cow"});
  const ConvertSummary summary = Convert(source, folders.path() / "later");
  CHECK(summary.classes == Strings{"ant", "bee", "cow"});
  CHECK(summary.class_counts == std::vector<std::uint64_t>{1, 0, 1});
  WriteSource(folders.path() / "t.csv", std::string("path,label\nant/1.jpg,cow\n"));
  ConvertSource table = ConvertSource::Table(folders.path() / "t.csv");
  table.root = folders.source;
  table.label.classes_of = folders.data;
  Convert(table, folders.path() / "table");
  CHECK(ReadDataset(folders.path() / "table").samples.at(0).Label() == 2);
  folders.Add("dog/1.jpg");
  const auto error = ErrorOf([&] { Convert(source, folders.path() / "more"); });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring("is not one of the 3 classes of"));
  source.label.store = false;
  CHECK(CodeOf([&] { Convert(source, folders.path() / "more"); }) == ErrorCode::kInvalidArgument);
}

TEST_CASE("a part of a split that lacks a class of another part gives a warning") {
  const ClassFolders folders;
  for (const char* key : {"train/ant/1.jpg", "train/bee/1.jpg", "train/cow/1.jpg", "val/ant/1.jpg",
                          "val/cow/1.jpg", "other/dog/1.jpg"})
    folders.Add(key);
  ConvertSource part = folders.source / "val";
  CHECK(WarningWith(Convert(part, folders.path() / "val"), "--classes-of")
            .starts_with("train/ next to this folder has the class bee, which is missing here"));
  part.label.classes = {"ant", "bee", "cow"};
  CHECK(WarningWith(Convert(part, folders.path() / "named"), "next to").empty());
  // Systems' own folders are no classes, and a class after all others changes no number.
  part.label.classes.clear();
  std::filesystem::remove_all(folders.source / "train/bee");
  std::filesystem::create_directories(folders.source / "train/@eaDir");
  folders.Add("train/dog/1.jpg");
  CHECK(WarningWith(Convert(part, folders.path() / "as many"), "next to").empty());
  std::filesystem::remove_all(folders.source / "train/dog");
  folders.Add("train/bee/1.jpg");
  const ConvertSource whole = folders.source / "train";
  CHECK(WarningWith(Convert(whole, folders.path() / "train"), "next to").empty());
}

TEST_CASE("label.classes_of refuses a dataset without classes") {
  const ClassFolders folders;
  folders.Add("1.jpg");
  folders.Run();
  ConvertSource source = folders.source;
  source.label.classes_of = folders.data;
  CHECK(CodeOf([&] { Convert(source, folders.path() / "later"); }) == ErrorCode::kInvalidArgument);
}

TEST_CASE("a sub-folder without images does not turn a flat folder into one of classes") {
  const ClassFolders folders;
  folders.Add("1.jpg");
  WriteSource(folders.source / "notes" / "readme.txt", std::string("text"));
  const ConvertSummary summary = folders.Run();
  CHECK(summary.classes.empty());
  CHECK(Mentions(summary.warnings, "notes"));
  CHECK(PathsOf(summary.passed_over) == Strings{"notes/readme.txt"});
}

TEST_CASE("an empty class keeps its number, with a warning") {
  const ClassFolders folders;
  folders.Add("a/1.jpg");
  std::filesystem::create_directories(folders.source / "b");
  folders.Add("c/1.jpg");
  const ConvertSummary summary = folders.Run();
  CHECK(summary.classes == Strings{"a", "b", "c"});
  CHECK(summary.class_counts == std::vector<std::uint64_t>{1, 0, 1});
  CHECK(Mentions(summary.warnings, "class 1 (b)"));
  CHECK(ReadDataset(folders.data).Find("c/1.jpg").Label() == 2);
}

TEST_CASE("system folders are not classes, and are skipped as a whole") {
  const ClassFolders folders;
  folders.Add("a/1.jpg");
  folders.Add("__MACOSX/a/._1.jpg");
  folders.Add("@eaDir/1.jpg/thumb.jpg");
  folders.Add("a/.ipynb_checkpoints/1-checkpoint.jpg");
  folders.Add("a/.AppleDouble/1.jpg");
  const ConvertSummary summary = folders.Run();
  CHECK(summary.samples == 1);
  CHECK(summary.classes == Strings{"a"});
  CHECK(PathsOf(summary.passed_over) ==
        Strings{"@eaDir", "__MACOSX", "a/.AppleDouble", "a/.ipynb_checkpoints"});
}

TEST_CASE(
    "hidden files and folders, and files that are not images, are skipped and are not faults") {
  const ClassFolders folders;
  folders.Add("a/1.jpg");
  folders.Add("a/.hidden.jpg");
  folders.Add(".cache/1.jpg");
  WriteSource(folders.source / "a" / "list.txt", std::string("1.jpg"));
  WriteSource(folders.source / "a" / "empty.txt", std::string());
  WriteSource(folders.source / "top.csv", std::string("1,2"));
  REQUIRE(mkfifo((folders.source / "a" / "pipe.jpg").c_str(), 0600) == 0);
  const ConvertSummary summary = folders.Run();
  CHECK(summary.samples == 1);
  CHECK(summary.skipped.empty());
  CHECK(PathsOf(summary.passed_over) ==
        Strings{".cache", "a/.hidden.jpg", "a/empty.txt", "a/list.txt", "a/pipe.jpg", "top.csv"});
  CHECK(summary.classes == Strings{"a"});
}

TEST_CASE("a file that is named like an image but is not one is broken") {
  const ClassFolders folders;
  folders.Add("a/1.jpg");
  WriteSource(folders.source / "a" / "empty.jpg", std::string());
  WriteSource(folders.source / "a" / "text.PNG", std::string("no image at all"));
  const ConvertSummary summary = folders.Run();
  CHECK(summary.samples == 1);
  CHECK(PathsOf(summary.skipped) == Strings{"a/empty.jpg", "a/text.PNG"});
  CHECK(summary.skipped[0].reason == "is empty");
  CHECK(summary.skipped[1].reason == "is not an image");
}

TEST_CASE("images are recognised by their content and not by their names") {
  const ClassFolders folders;
  WriteSource(folders.source / "photo.txt", MakeJpeg(MakePicture(10, 10)));
  WriteSource(folders.source / "drawing.jpg", MakePng(MakePicture(12, 11)));
  WriteSource(folders.source / "no_suffix", MakePng(MakePicture(9, 8)));
  CHECK(folders.Run().samples == 3);
  CHECK(ReadDataset(folders.data).Find("drawing.jpg").Pixels().width == 12);
}

TEST_CASE("images of unsupported kinds and dangling links are listed as broken") {
  const ClassFolders folders;
  folders.Add("a/1.jpg");
  WriteSource(folders.source / "a" / "move.psd", std::string("8BPS\0\1", 6));
  std::filesystem::create_symlink("nowhere", folders.source / "a" / "lost.jpg");
  const ConvertSummary summary = folders.Run();
  CHECK(PathsOf(summary.skipped) == Strings{"a/lost.jpg", "a/move.psd"});
  CHECK(summary.skipped[1].reason.find("Photoshop") != std::string::npos);
}

TEST_CASE("symbolic links are followed within the source, and outside of it on request") {
  const ClassFolders folders;
  folders.Add("a/1.jpg");
  WriteSource(folders.path() / "elsewhere" / "2.jpg", MakeJpeg(MakePicture(16, 16, 3, 2)));
  std::filesystem::create_symlink(folders.path() / "elsewhere", folders.source / "b");
  std::filesystem::create_symlink(folders.path() / "elsewhere" / "2.jpg",
                                  folders.source / "a" / "out.jpg");
  std::filesystem::create_symlink("1.jpg", folders.source / "a" / "again.jpg");
  std::filesystem::create_symlink("a", folders.source / "c");
  const ConvertSummary inside = folders.Run();
  CHECK(ReadDataset(folders.data).Keys() ==
        Strings{"a/1.jpg", "a/again.jpg", "c/1.jpg", "c/again.jpg"});
  CHECK(Mentions(inside.warnings, "3 links lead out of the source"));
  ConvertSource all(folders.source);
  all.follow_links = true;
  ConvertOptions options;
  options.shards.keep_order = true;
  const ConvertSummary everything = Convert(all, folders.path() / "all", options);
  CHECK(ReadDataset(folders.path() / "all").Keys() == Strings{"a/1.jpg", "a/again.jpg", "a/out.jpg",
                                                              "b/2.jpg", "c/1.jpg", "c/again.jpg",
                                                              "c/out.jpg"});
  CHECK_FALSE(Mentions(everything.warnings, "out of the source"));
}

TEST_CASE("each link to a folder is followed once, however many ways lead to it") {
  const ClassFolders folders;
  // Each folder has two links to the next one, so 2^39 paths lead to the last.
  constexpr int kFolders = 40;
  for (int i = 0; i + 1 < kFolders; ++i) {
    const std::filesystem::path folder = folders.source / ("f" + std::to_string(i));
    std::filesystem::create_directories(folder);
    for (const char* const link : {"x", "y"})
      std::filesystem::create_symlink("../f" + std::to_string(i + 1), folder / link);
  }
  folders.Add("f" + std::to_string(kFolders - 1) + "/1.jpg");
  CHECK(folders.Run().samples <= 1 + 2 * kFolders);
}

TEST_CASE("a link to a folder that contains it is not followed, with a warning") {
  const ClassFolders folders;
  folders.Add("a/x/1.jpg");
  std::filesystem::create_symlink("..", folders.source / "a" / "x" / "up");
  std::filesystem::create_symlink(folders.source, folders.source / "a" / "top");
  const ConvertSummary summary = folders.Run();
  CHECK(summary.samples == 1);
  CHECK(PathsOf(summary.passed_over) == Strings{"a/top", "a/x/up"});
  CHECK(Mentions(summary.warnings, "a/top"));
  CHECK(Mentions(summary.warnings, "a/x/up"));
}

TEST_CASE(
    "names are bytes: those that are not UTF-8 stay in the key and are escaped in the class") {
  const ClassFolders folders;
  folders.Add("K\xff/\xfe.jpg");
  folders.Add("z/tab\there.jpg");
  WriteSource(folders.source / "z" / "odd\xfd\tname\n.txt", std::string("x"));
  const ConvertSummary summary = folders.Run();
  CHECK(summary.classes == Strings{"K\\xff", "z"});
  const StoredDataset data = ReadDataset(folders.data);
  CHECK(data.Keys() == Strings{"K\xff/\xfe.jpg", "z/tab\there.jpg"});
  CHECK(data.manifest.schema.fields.at(1).classes == summary.classes);
  CHECK(ContentOf(folders.data / "skipped.tsv") ==
        "path\treason\tkind\nz/odd\xfd\\tname\\n.txt\tno image\tpassed over\n");
}

TEST_CASE("skipped.tsv lists skipped images and files, in the order of paths") {
  const ClassFolders folders;
  folders.Add("a/2.jpg");
  WriteSource(folders.source / "a" / "1.txt", std::string("text"));
  WriteSource(folders.source / "a" / "3.psd", std::string("8BPS"));
  const FileBytes whole = MakeJpeg(MakePicture(64, 64));
  WriteSource(folders.source / "a" / "0.jpg", Truncated(whole, whole.size() / 2));
  const ConvertSummary summary = folders.Run();
  CHECK(PathsOf(summary.skipped) == Strings{"a/0.jpg", "a/3.psd"});
  CHECK(ContentOf(folders.data / "skipped.tsv") ==
        "path\treason\tkind\na/0.jpg\t" + summary.skipped[0].reason +
            "\tbroken\na/1.txt\tno image\tpassed over\na/3.psd\t" + summary.skipped[1].reason +
            "\tbroken\n");
}

TEST_CASE(
    "a missing source, a file, or a folder without images is refused, and nothing is created") {
  const ClassFolders folders;
  const auto code = [&] { return CodeOf([&] { folders.Run(); }); };
  CHECK(code() == ErrorCode::kNotFound);
  WriteSource(folders.source, std::string("a file"));
  CHECK(code() == ErrorCode::kInvalidArgument);
  std::filesystem::remove(folders.source);
  WriteSource(folders.source / "a" / "readme.txt", std::string("text"));
  CHECK(code() == ErrorCode::kNotFound);
  CHECK_FALSE(std::filesystem::exists(folders.data));
}

TEST_CASE("if no image can be converted, the error states the first reason") {
  const ClassFolders folders;
  const FileBytes whole = MakeJpeg(MakePicture(64, 64));
  WriteSource(folders.source / "half.jpg", Truncated(whole, whole.size() / 2));
  const auto error = ErrorOf([&] { folders.Run(); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kCorrupt);
  CHECK(error->sentence().find("half.jpg") != std::string::npos);
}

TEST_CASE(
    "the error for a folder without images names a file, and advises to convert a .parquet "
    "itself") {
  const ClassFolders folders;
  WriteSource(folders.source / "README.md", std::string("a text"));
  const auto sentence = [&] {
    const auto error = ErrorOf([&] { folders.Run(); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kNotFound);
    return error->sentence();
  };
  CHECK_THAT(sentence(), EndsWith("; 1 file was passed over: README.md (no image)"));
  WriteSource(folders.source / "train-0.parquet", std::string("PAR1"));
  CHECK_THAT(sentence(),
             EndsWith("such as train-0.parquet (no image); give such files themselves as the "
                      "sources, not their folder"));
}

TEST_CASE("a dataset inside its own source folder is refused") {
  const ClassFolders folders;
  folders.Add("a/1.jpg");
  const auto into = [&](const std::filesystem::path& dataset) {
    return CodeOf([&] { Convert(folders.source, dataset, {}); });
  };
  CHECK(into(folders.source / "out") == ErrorCode::kInvalidArgument);
  CHECK(into(folders.source) == ErrorCode::kInvalidArgument);
  CHECK_FALSE(std::filesystem::exists(folders.source / "out"));
  // A folder whose name merely begins with the source's name is accepted.
  Convert(folders.source, folders.path() / "source-data", {});
}

}  // namespace sluice::test
