// Source folders that are deeper than one folder per class: which folders are classes, which are
// splits, and which sources are refused.
#include <sluice/convert.h>
#include <sluice/error.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

using Strings = std::vector<std::string>;

struct Tree : TemporaryFolder {
  const std::filesystem::path source = path() / "source";
  const std::filesystem::path data = path() / "data";

  explicit Tree(const Strings& keys) {
    for (const std::string& key : keys)
      WriteSource(source / key, MakeJpeg(MakePicture(24, 20)));
  }
  ConvertSummary Run(const ConvertSource& from) const {
    ConvertOptions options;
    options.shards.keep_order = true;
    return Convert(from, data, options);
  }
  ConvertSummary Run(FolderLabels labels) const {
    ConvertSource from(source);
    from.label.folders = labels;
    return Run(from);
  }
};

// "key=class" for each sample.
Strings LabelsOf(const std::filesystem::path& folder) {
  const StoredDataset data = ReadDataset(folder);
  Strings labels;
  for (const StoredSample& sample : data.samples) {
    labels.push_back(
        sample.key + "=" +
        data.manifest.schema.fields.at(1).classes.at(static_cast<std::size_t>(sample.Label())));
  }
  return labels;
}

}  // namespace

TEST_CASE("a class is the outermost folder or the innermost one") {
  const Tree tree({"a/x/1.jpg", "a/y/2.jpg", "b/x/3.jpg", "b/4.jpg", "a-c/z/5.jpg"});
  const auto [labels, classes, of_samples] =
      GENERATE(Catch::Generators::table<FolderLabels, Strings, Strings>({
          {FolderLabels::kTop,
           {"a", "a-c", "b"},
           {"a-c/z/5.jpg=a-c", "a/x/1.jpg=a", "a/y/2.jpg=a", "b/4.jpg=b", "b/x/3.jpg=b"}},
          {FolderLabels::kParent,
           {"b", "x", "y", "z"},
           {"a-c/z/5.jpg=z", "a/x/1.jpg=x", "a/y/2.jpg=y", "b/4.jpg=b", "b/x/3.jpg=x"}},
      }));
  const ConvertSummary summary = tree.Run(labels);
  CHECK(summary.classes == classes);
  CHECK(summary.warnings.empty());
  CHECK(LabelsOf(tree.data) == of_samples);
}

TEST_CASE("a list of paths gets its classes from the same folders") {
  const Tree tree({"a/x/1.jpg", "b/x/3.jpg"});
  ConvertSource source = ConvertSource::Paths({"a/x/1.jpg", "b/x/3.jpg"}, tree.source);
  source.label.folders = FolderLabels::kParent;
  CHECK(tree.Run(source).class_counts == std::vector<std::uint64_t>{2});
}

TEST_CASE("an innermost folder without images is a class, and one that holds folders is not") {
  const Tree tree({"a/x/1.jpg"});
  std::filesystem::create_directories(tree.source / "a/empty");
  CHECK(tree.Run(FolderLabels::kParent).classes == Strings{"empty", "x"});
}

TEST_CASE("with classes requested, images outside of class folders are left out and listed") {
  const Tree tree({"a/1.jpg", "stray.jpg"});
  const ConvertSummary summary = tree.Run(FolderLabels::kTop);
  CHECK(summary.samples == 1);
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].path == "stray.jpg");
  CHECK(summary.skipped[0].reason ==
        "lies in no folder that would be its class; --labels none takes it");
}

TEST_CASE("folders that look like splits are refused until the user says what they are") {
  const Strings keys =
      GENERATE(Strings{"train/cat/1.jpg", "val/cat/1.jpg"}, Strings{"train/1.jpg", "val/1.jpg"},
               Strings{"Training/a/1.jpg"}, Strings{"train2017/1.jpg", "val2017/1.jpg"},
               Strings{"test_set/cat/1.jpg", "training_set/cat/1.jpg"},
               Strings{"testset/1.jpg", "trainset/1.jpg"},
               Strings{"test/a/1.jpg", "train/a/1.jpg", "extra/a/1.jpg"});
  CAPTURE(keys);
  const Tree tree(keys);
  CHECK(FindSplitFolders(tree.source).names.size() == keys.size());
  const auto error = ErrorOf([&] { tree.Run(FolderLabels::kAuto); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kInvalidArgument);
  CHECK_THAT(error->sentence(), ContainsSubstring("--split-folders"));
  CHECK(ErrorOf([&] { tree.Run(ConvertSource::Paths(keys, tree.source)); }));
  CHECK(tree.Run(FolderLabels::kTop).samples == keys.size());
}

TEST_CASE("a part of a split that is unpacked into a folder of its own name holds its classes") {
  const Tree tree({"training_set/training_set/cat/1.jpg", "training_set/training_set/dog/1.jpg"});
  const ConvertSource source(tree.source / "training_set");
  CHECK(tree.Run(source).classes == Strings{"cat", "dog"});
}

TEST_CASE("folders named like a split, but not laid out as splits, are classes") {
  const Strings keys = GENERATE(Strings{"train/1.jpg", "plane/1.jpg"}, Strings{"test/1.jpg"},
                                Strings{"valley/a/1.jpg", "trainer/a/1.jpg"},
                                Strings{"train/old/1.jpg", "plane/1.jpg"});
  CAPTURE(keys);
  const Tree tree(keys);
  std::filesystem::create_directories(tree.source / "val");
  CHECK(FindSplitFolders(tree.source).names.empty());
  CHECK(tree.Run(FolderLabels::kAuto).samples == keys.size());
}

TEST_CASE("split folders are those that hold images, and may have any name on request") {
  const Tree tree({"one/1.jpg", "two/deep/1.jpg", ".hidden/1.jpg"});
  WriteSource(tree.source / "notes/readme.txt", std::string("text"));
  CHECK(FindSplitFolders(tree.source).names.empty());
  CHECK(FindSplitFolders(tree.source, {.of_any_name = true}).names == Strings{"one", "two"});
}

TEST_CASE("split folders behind links out of the source are found only on request") {
  const Tree tree({"train/a/1.jpg", "elsewhere/a/1.jpg"});
  const std::filesystem::path outside = tree.path() / "outside";
  std::filesystem::rename(tree.source / "elsewhere", outside);
  std::filesystem::create_symlink("train", tree.source / "val");
  std::filesystem::create_symlink(outside, tree.source / "test");
  std::filesystem::create_directories(tree.source / "dev");
  std::filesystem::create_symlink(outside / "a", tree.source / "dev" / "a");
  const SplitFolders inside = FindSplitFolders(tree.source);
  CHECK(inside.names == Strings{"train", "val"});
  REQUIRE(inside.warnings.size() == 1);
  CHECK_THAT(inside.warnings[0], ContainsSubstring("such as test; --follow-links"));
  const SplitFolders all = FindSplitFolders(tree.source, {.follow_links = true});
  CHECK(all.names == Strings{"dev", "test", "train", "val"});
  CHECK(all.warnings.empty());
}

TEST_CASE("label.folders is refused for a table") {
  const Tree tree({"a/1.jpg"});
  ConvertSource source = ConvertSource::Table(tree.source / "t.csv");
  source.label.folders = FolderLabels::kTop;
  CHECK(ErrorOf([&] { tree.Run(source); })->code() == ErrorCode::kInvalidArgument);
}

}  // namespace sluice::test
