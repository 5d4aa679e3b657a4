// Boxes, masks and key points of images that their orientation (Exif) turns or mirrors. An object
// lies in the corner of the upright image. Whatever the file's orientation, the annotations must
// cover this corner in the converted image.
#include <nlohmann/json.hpp>

#include <sluice/convert_steps.h>
#include <sluice/error.h>

#include "format/disk/zstd.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/writer/labelled_images.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::uint32_t kObjectWidth = 50;
constexpr std::uint32_t kObjectHeight = 20;
const Floats kObject = {0, 0, kObjectWidth, kObjectHeight};

// Images of this upright size, and annotations in every format, which are drawn on the upright
// image.
class DrawnImages : public TemporaryFolder {
 public:
  const std::filesystem::path images = path() / "images";

  DrawnImages(std::uint32_t width, std::uint32_t height, int orientation)
      : width_(width), height_(height) {
    Add("a.jpg", orientation);
  }

  void Add(const char* name, int orientation) const {
    const Picture upright = MakePicture(width_, height_);
    WriteSource(images / name, WithOrientation(MakeJpeg(Stored(upright, orientation)),
                                               static_cast<std::uint16_t>(orientation)));
  }
  ConvertSource Yolo() const {
    WriteSource(path() / "yolo/classes.txt", std::string("red\n"));
    const auto fraction = [](double part, std::uint32_t of) { return std::to_string(part / of); };
    WriteSource(path() / "yolo/a.txt", "0 " + fraction(.5 * kObjectWidth, width_) + " " +
                                           fraction(.5 * kObjectHeight, height_) + " " +
                                           fraction(kObjectWidth, width_) + " " +
                                           fraction(kObjectHeight, height_) + "\n");
    return ConvertSource::Annotated(AnnotationFormat::kYolo, path() / "yolo", images);
  }
  ConvertSource Dota() const {
    WriteSource(path() / "dota/a.txt", std::string("50 0 50 20 0 20 0 0 red 0\n"));
    return ConvertSource::Annotated(AnnotationFormat::kDota, path() / "dota", images);
  }
  ConvertSource Table() const {
    WriteSource(path() / "t.csv", std::string("path,boxes\na.jpg,0 0 50 20\n"));
    ConvertSource source = ConvertSource::Table(path() / "t.csv");
    source.root = images;
    source.rows.columns = {{"boxes", ColumnType::kBoxes}};
    return source;
  }
  // `turned`: the label file states the width as height and the height as width.
  ConvertSource Coco(bool turned = false) const {
    const nlohmann::json json = {
        {"images",
         {{{"id", 1},
           {"file_name", "a.jpg"},
           {"width", turned ? height_ : width_},
           {"height", turned ? width_ : height_}}}},
        {"categories", {{{"id", 1}, {"name", "red"}}}},
        {"annotations",
         {{{"id", 1},
           {"image_id", 1},
           {"category_id", 1},
           {"bbox", {0, 0, kObjectWidth, kObjectHeight}},
           {"segmentation",
            {{0, 0, kObjectWidth, 0, kObjectWidth, kObjectHeight, 0, kObjectHeight}}},
           {"num_keypoints", 1},
           {"keypoints", {10, 5, 2}}}}}};
    WriteSource(path() / "coco.json", json.dump());
    return ConvertSource::Annotated(AnnotationFormat::kCoco, path() / "coco.json", images);
  }
  ConvertSource Voc() const {
    WriteSource(path() / "voc/a.xml",
                "<annotation><filename>a.jpg</filename><size><width>" + std::to_string(width_) +
                    "</width><height>" + std::to_string(height_) +
                    "</height></size><object><name>red</name><bndbox><xmin>1</xmin><ymin>1</ymin>"
                    "<xmax>50</xmax><ymax>20</ymax></bndbox></object></annotation>");
    return ConvertSource::Annotated(AnnotationFormat::kVoc, path() / "voc", images);
  }
  // `turned`: the mask is as wide as the upright image is high, and as high as that is wide.
  ConvertSource Masks(bool turned = false) const {
    Picture mask = {width_, height_, 1, std::vector<std::uint8_t>(std::size_t{width_} * height_)};
    if (turned) std::swap(mask.width, mask.height);
    for (std::uint32_t y = 0; y < kObjectHeight; ++y) {
      for (std::uint32_t x = 0; x < kObjectWidth; ++x)
        mask.pixels[std::size_t{y} * mask.width + x] = 1;
    }
    WriteSource(path() / "masks/a.png", MakePng(mask));
    ConvertSource source(images);
    source.mask_folder = path() / "masks";
    return source;
  }
  ConvertSummary Convert(const ConvertSource& source) const {
    std::filesystem::remove_all(path() / "data");
    return ConvertBothWays(source, path() / "data", AsTheyAre());
  }
  Floats Boxes() const { return ValuesIn<float>(ReadDataset(path() / "data"), "a.jpg", "boxes"); }
  // The box around the mask's non-zero pixels. All pixels in the box must be set.
  Floats Mask() const {
    const StoredDataset data = ReadDataset(path() / "data");
    const std::size_t at = data.manifest.schema.Find("mask");
    REQUIRE(at != Schema::kNone);
    const StoredField& field = data.Find("a.jpg").fields.at(at);
    std::vector<std::byte> values = field.bytes;
    if (field.codec == Codec::kZstd) {
      values.resize(std::size_t{field.width} * field.height);
      REQUIRE(ZstdDecompress(field.bytes, values));
    }
    Floats box = {1e9F, 1e9F, 0, 0};
    std::size_t count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == std::byte{0}) continue;
      const auto x = static_cast<float>(i % field.width);
      const auto y = static_cast<float>(i / field.width);
      box = {std::min(box[0], x), std::min(box[1], y), std::max(box[2], x + 1),
             std::max(box[3], y + 1)};
      ++count;
    }
    CHECK(count == std::size_t{kObjectWidth} * kObjectHeight);
    return box;
  }

 private:
  std::uint32_t width_, height_;
};

}  // namespace

TEST_CASE("annotations drawn on the upright image cover their object, in every format") {
  const int orientation = GENERATE(1, 2, 3, 4, 5, 6, 7, 8);
  const bool square = GENERATE(false, true);
  CAPTURE(orientation, square);
  const DrawnImages drawn(square ? 80 : 100, 80, orientation);
  for (const ConvertSource& source : {drawn.Yolo(), drawn.Table(), drawn.Coco(), drawn.Voc()}) {
    CAPTURE(static_cast<int>(source.kind), static_cast<int>(source.label_files.format));
    CHECK(drawn.Convert(source).samples == 1);
    CHECK(drawn.Boxes() == kObject);
  }
  drawn.Convert(drawn.Dota());
  CHECK(drawn.Boxes() == Floats{50, 0, 50, 20, 0, 20, 0, 0});
  CHECK(drawn.Convert(drawn.Masks()).samples == 1);
  CHECK(drawn.Mask() == kObject);
  drawn.Convert(drawn.Coco());
  CHECK(drawn.Mask() == kObject);
  CHECK(ValuesIn<float>(ReadDataset(drawn.path() / "data"), "a.jpg", "keypoints") ==
        Floats{10, 5, 2});
}

TEST_CASE("annotations drawn on the stored image are turned with it") {
  const DrawnImages drawn(60, 100, 6);  // stored 100x60
  ConvertSource source = drawn.Table();
  source.upright = false;
  CHECK(drawn.Convert(source).samples == 1);
  // A quarter turn to the right: the left becomes the top, and the top becomes the right.
  CHECK(drawn.Boxes() == Floats{60 - 20, 0, 60, 50});
  ConvertSource masks = drawn.Masks(true);
  masks.upright = false;
  CHECK(drawn.Convert(masks).samples == 1);
  CHECK(drawn.Mask() == Floats{60 - 20, 0, 60, 50});
}

TEST_CASE("an image whose annotations fit only the opposite `upright` is left out with advice") {
  const DrawnImages drawn(100, 60, 6);
  drawn.Add("b.jpg", 1);
  WriteSource(drawn.path() / "masks/b.png",
              MakePng(Picture{100, 60, 1, std::vector<std::uint8_t>(6000)}));
  const auto reason = [&](ConvertSource source, std::optional<bool> upright) {
    source.upright = upright;
    std::filesystem::remove_all(drawn.path() / "data");
    try {
      const ConvertSummary summary = sluice::Convert(source, drawn.path() / "data");
      return summary.skipped.empty() ? std::string() : summary.skipped.at(0).reason;
    } catch (const Error& error) {
      return error.sentence();
    }
  };
  for (const std::optional<bool> upright : {std::optional<bool>(), std::optional<bool>(true)}) {
    CHECK_THAT(reason(drawn.Coco(true), upright),
               ContainsSubstring("has 100x60 pixels, but its label file describes 60x100; the file "
                                 "stores the image in that size: if the annotations were drawn on "
                                 "the image as stored, convert with --as-stored"));
    CHECK_THAT(reason(drawn.Masks(true), upright), ContainsSubstring("--as-stored"));
  }
  CHECK_THAT(reason(drawn.Coco(), false),
             ContainsSubstring("has 60x100 pixels, but its label file describes 100x60; the "
                               "upright image has that size: convert with --upright"));
  CHECK_THAT(reason(drawn.Voc(), false), ContainsSubstring("convert with --upright"));
  CHECK_THAT(reason(drawn.Masks(), false),
             ContainsSubstring(
                 "its mask is 100x60 and the image 60x100; the upright image has that size"));
}

TEST_CASE(
    "turned images with annotations give a warning, unless an option says how they were drawn") {
  const DrawnImages drawn(100, 60, 6);
  for (const char* name : {"b.jpg", "c.jpg", "d.jpg", "e.jpg"})
    drawn.Add(name, 3);
  drawn.Add("f.jpg", 1);
  std::string rows = "path,boxes\n";
  for (const char* name : {"a", "b", "c", "d", "f"})
    rows += std::string(name) + ".jpg,0 0 50 20\n";
  ConvertSource source = drawn.Table();
  WriteSource(drawn.path() / "t.csv", rows + "e.jpg,\n");  // e.jpg has no box
  ConvertOptions options;
  options.shards.keep_order = true;
  const std::filesystem::path data = drawn.path() / "data";
  const std::string expected =
      "4 images are turned or mirrored by their orientation (Exif) and have boxes, masks or key "
      "points, such as a.jpg, b.jpg, c.jpg: these are taken as drawn on the upright image. If they "
      "were drawn on the image as its file stores it, convert with --as-stored "
      "(upright = false); --upright (true) "
      "confirms this and ends the warning";
  for (int run = 0; run < 2; ++run) {  // the second run finds the shards of the first
    const ConvertSummary summary = sluice::Convert(source, data, options);
    CHECK(summary.turned.count == 4);
    CHECK(summary.turned.examples == Strings{"a.jpg", "b.jpg", "c.jpg"});
    CHECK(WarningWith(summary, "orientation") == expected);
  }
  options.run.dry_run = true;
  CHECK(WarningWith(sluice::Convert(source, data, options), "orientation") ==
        "at least " + expected);
  options.run.dry_run = false;
  const std::filesystem::path parts = drawn.path() / "parts";
  CHECK(WarningWith(PlanConversion(source, parts, options), "orientation") ==
        "at least " + expected);
  ConvertPlanned(parts, {}, {.threads = 1});
  CHECK(WarningWith(FinishConversion(parts).summary, "orientation") == expected);
  source.upright = true;  // the same dataset
  const ConvertSummary confirmed = sluice::Convert(source, data, options);
  CHECK(confirmed.turned.count == 4);
  CHECK(WarningWith(confirmed, "orientation").empty());
  source.upright = false;
  CHECK(WarningWith(sluice::Convert(source, drawn.path() / "stored", options), "orientation")
            .empty());
  // Without annotations there is no warning.
  const ConvertSummary alone = sluice::Convert(drawn.images, drawn.path() / "alone", options);
  CHECK(alone.turned.count == 0);
  CHECK(WarningWith(alone, "orientation").empty());
}

TEST_CASE("a dataset made with the opposite `upright` is refused, and the error says so") {
  const DrawnImages drawn(100, 60, 3);
  ConvertSource source = drawn.Table();
  source.upright = false;
  const std::filesystem::path data = drawn.path() / "data";
  sluice::Convert(source, data);
  source.upright.reset();
  CHECK_THAT(ErrorOf([&] { sluice::Convert(source, data); })->sentence(),
             ContainsSubstring("boxes, masks and key points were taken as drawn on the images as "
                               "stored (--as-stored) then and as drawn upright now"));
  std::filesystem::remove_all(data);
  sluice::Convert(source, data);
  source.upright = false;
  CHECK_THAT(ErrorOf([&] { sluice::Convert(source, data); })->sentence(),
             ContainsSubstring("as drawn upright then and as drawn on the images as stored now"));
  // Without annotations, both are the same plan.
  ConvertSource alone(drawn.images);
  sluice::Convert(alone, drawn.path() / "alone");
  alone.upright = false;
  CHECK(sluice::Convert(alone, drawn.path() / "alone").samples == 1);
}

}  // namespace sluice::test
