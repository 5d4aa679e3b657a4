// Symbolic links that lead out of a source, in every kind of source that names files.
#include <sluice/convert.h>

#include "tests/catch.h"
#include "tests/writer/labelled_images.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

// LabelledImages whose b.jpg and deep/ are links out of the images' folder.
struct LinkedImages : LabelledImages {
  LinkedImages() {
    fs::create_directory(path() / "elsewhere");
    MoveAway(images / "b.jpg");
    MoveAway(images / "deep");
  }
  void MoveAway(const fs::path& place) const {
    const fs::path to = path() / "elsewhere" / place.filename();
    fs::rename(place, to);
    fs::create_symlink(to, place);
  }
  // Checks that a conversion takes only a.jpg, and with `follow_links` all three images.
  // `left_out`: the paths that it reports as links. `out_of`: the folder that its warning says they
  // lead out of.
  void CheckFollowsOnlyIfAsked(ConvertSource source, const Strings& left_out,
                               const std::string& out_of) const {
    const ConvertSummary summary = Convert(source);
    CHECK(Data().Keys() == Strings{"a.jpg"});
    CHECK(summary.skipped.empty());
    Strings passed_over;
    for (const LeftOut& one : summary.passed_over) {
      if (one.reason == "a link out of the source, which --follow-links takes")
        passed_over.push_back(one.path);
    }
    CHECK(passed_over == left_out);
    CHECK_THAT(WarningWith(summary, "--follow-links"),
               ContainsSubstring("2 files lie behind links that lead out of " +
                                 (path() / out_of).string() + " and were left out, such as "));
    fs::remove_all(path() / "data");
    source.follow_links = true;
    CHECK(WarningWith(Convert(source), "--follow-links").empty());
    CHECK(Data().Keys() == Strings{"a.jpg", "b.jpg", "deep/c.jpg"});
  }
};

}  // namespace

TEST_CASE("a list of paths follows links out of its folder only on request") {
  const LinkedImages folder;
  ConvertSource source = ConvertSource::Paths({"a.jpg", "b.jpg", "deep/c.jpg"}, folder.images);
  source.label.store = false;
  folder.CheckFollowsOnlyIfAsked(source, {"b.jpg", "deep/c.jpg"}, "images");
}

TEST_CASE(
    "a table's images may be links out of their folder only on request, also without an ending") {
  const LinkedImages folder;
  WriteSource(folder.images / "t.csv", std::string("path\na.jpg\nb\ndeep/c.jpg\n"));
  folder.CheckFollowsOnlyIfAsked(ConvertSource::Table(folder.images / "t.csv"),
                                 {"b.jpg", "deep/c.jpg"}, "images");
}

TEST_CASE("COCO's images may be links out of their folder only on request") {
  const LinkedImages folder;
  folder.CheckFollowsOnlyIfAsked(
      folder.Coco(R"({"images":[{"id":1,"file_name":"a.jpg"},{"id":2,"file_name":"b.jpg"},
                     {"id":3,"file_name":"deep/c.jpg"}],"categories":[{"id":1,"name":"owl"}],
                     "annotations":[{"image_id":1,"category_id":1,"bbox":[0,0,9,9]}]})"),
      {"b.jpg", "deep/c.jpg", "deep"}, "images");
}

TEST_CASE("VOC's images may be links out of their folder only on request") {
  const LinkedImages folder;
  for (const char* const name : {"a", "b", "deep/c"})
    WriteSource(folder.path() / "voc" / (std::string(name) + ".xml"),
                std::string("<annotation></annotation>"));
  folder.CheckFollowsOnlyIfAsked(
      ConvertSource::Annotated(AnnotationFormat::kVoc, folder.path() / "voc", folder.images),
      {"b.jpg", "deep/c.jpg", "deep"}, "images");
}

TEST_CASE("VOC's, YOLO's and DOTA's label files may be links out of their folder only on request") {
  const LabelledImages folder;
  const std::string xml = "<annotation></annotation>";
  WriteSource(folder.path() / "elsewhere.xml", xml);
  WriteSource(folder.path() / "voc/a.xml", xml);
  fs::create_symlink("../elsewhere.xml", folder.path() / "voc/b.xml");
  const ConvertSummary voc = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kVoc, folder.path() / "voc", folder.images));
  CHECK(folder.Data().Keys() == Strings{"a.jpg"});
  CHECK_THAT(WarningWith(voc, "--follow-links"), ContainsSubstring("1 link leads out"));
  REQUIRE(voc.passed_over.size() == 2);
  CHECK(voc.passed_over[0].path == "b.xml");
  CHECK(voc.passed_over[1].path == "deep/c.jpg");
  fs::remove_all(folder.path() / "data");

  WriteSource(folder.path() / "elsewhere.txt", std::string("0 0.5 0.5 1 1\n"));
  WriteSource(folder.path() / "yolo/a.txt", std::string("0 0.5 0.5 1 1\n"));
  fs::create_symlink("../elsewhere.txt", folder.path() / "yolo/b.txt");
  const ConvertSummary yolo = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "yolo", folder.images));
  CHECK(folder.Data().Keys() == Strings{"a.jpg", "deep/c.jpg"});
  CHECK_THAT(WarningWith(yolo, "--follow-links"), ContainsSubstring("1 file lies behind links"));
  REQUIRE_FALSE(yolo.passed_over.empty());
  CHECK(yolo.passed_over[0].path == "b.jpg");
  fs::remove_all(folder.path() / "data");

  WriteSource(folder.path() / "elsewhere.txt", std::string("0 0 9 0 9 9 0 9 owl 0\n"));
  WriteSource(folder.path() / "dota/a.txt", std::string("0 0 9 0 9 9 0 9 owl 0\n"));
  fs::create_symlink("../elsewhere.txt", folder.path() / "dota/b.txt");
  const ConvertSummary dota = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kDota, folder.path() / "dota", folder.images));
  CHECK(folder.Data().Keys() == Strings{"a.jpg", "deep/c.jpg"});
  REQUIRE_FALSE(dota.passed_over.empty());
  CHECK(dota.passed_over[0].path == "b.jpg");
}

TEST_CASE("YOLO's images that are links out of the source are counted") {
  const LinkedImages folder;
  WriteSource(folder.path() / "yolo/a.txt", std::string("0 0.5 0.5 1 1\n"));
  const ConvertSummary summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "yolo", folder.images));
  CHECK(folder.Data().Keys() == Strings{"a.jpg"});
  CHECK_THAT(WarningWith(summary, "--follow-links"), ContainsSubstring("2 links lead out"));
  CHECK(summary.passed_over.size() == 2);
}

TEST_CASE("masks may be links out of their folder only on request, and the folders may be links") {
  const LinkedImages folder;
  fs::remove(folder.images / "b.jpg");
  fs::remove(folder.images / "deep");
  fs::rename(folder.path() / "elsewhere/b.jpg", folder.images / "b.jpg");
  fs::rename(folder.path() / "elsewhere/deep", folder.images / "deep");
  const FileBytes mask = MakePng(60, 40, std::vector<std::uint8_t>(2400), {.color_type = 0});
  for (const char* const name : {"a.png", "b.png", "deep/c.png"})
    WriteSource(folder.path() / "masks" / name, mask);
  folder.MoveAway(folder.path() / "masks/b.png");
  folder.MoveAway(folder.path() / "masks/deep");
  fs::create_symlink("masks", folder.path() / "linked masks");
  fs::create_symlink("images", folder.path() / "linked images");
  ConvertSource source(folder.path() / "linked images");
  source.label.store = false;
  source.mask_folder = folder.path() / "linked masks";
  folder.CheckFollowsOnlyIfAsked(source, {"b.jpg", "deep/c.jpg"}, "linked masks");
}

TEST_CASE("a table's masks may be links out of its folder only on request") {
  const LinkedImages folder;
  const FileBytes mask = MakePng(60, 40, std::vector<std::uint8_t>(2400), {.color_type = 0});
  WriteSource(folder.images / "in.png", mask);
  WriteSource(folder.images / "out.png", mask);
  folder.MoveAway(folder.images / "out.png");
  fs::create_symlink("a.jpg", folder.images / "again.jpg");  // leads to a place inside
  WriteSource(folder.images / "t.csv",
              std::string("path,m\na.jpg,out.png\nagain.jpg,in.png\nb.jpg,in.png\n"));
  ConvertSource source = ConvertSource::Table(folder.images / "t.csv");
  source.rows.columns = {{"m", ColumnType::kMask}};
  const ConvertSummary summary = folder.Convert(source);
  CHECK(folder.Data().Keys() == Strings{"again.jpg"});
  CHECK(summary.passed_over.size() == 2);
}

}  // namespace sluice::test
