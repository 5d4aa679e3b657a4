// ImageFileReader() reads the image files that a server gets as a conversion reads them. The tests
// compare the row that Preprocess makes of a file with the row that a Loader makes of the converted
// file.
#include <sluice/image_file.h>
#include <sluice/loader.h>
#include <sluice/preprocess.h>

#include "tests/catch.h"
#include "tests/newer_pictures.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"

namespace sluice::test {

namespace {

using Catch::Matchers::ContainsSubstring;
using Row = std::vector<std::byte>;

// The row of the converted file, with a pipeline that crops, resizes and normalizes.
Row TrainingRow(const FileBytes& file, const ConvertOptions& options, std::string& pipeline) {
  const TemporaryFolder folder;
  WriteSource(folder / "source" / "one", file);
  REQUIRE(Convert(folder / "source", folder / "data", options).samples == 1);
  LoaderOptions playing;
  playing.batch_size = 1;
  playing.threads = 0;
  playing.transform = {ResizeShortSide(40), CenterCrop(32),
                       Normalize({0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F})};
  playing.output.layout = Layout::kNCHW;
  playing.output.channels = 3;
  const Loader loader(Dataset::Open(folder / "data"), playing);
  pipeline = loader.PipelineText();
  const Batch row = loader.Row(0, 0);
  const auto* const data = reinterpret_cast<const std::byte*>(row.image().data);
  return {data, data + row.image().sample_bytes()};
}

Row ServedRow(const FileBytes& file, const std::string& pipeline) {
  const Preprocess preprocess(pipeline, {.image_files = ImageFileReader});
  Row row(preprocess.row_bytes());
  preprocess.Row(file, row);
  return row;
}

void CheckServed(const char* kind, const FileBytes& file, const ConvertOptions& options) {
  INFO(kind);
  std::string pipeline;
  const Row trained = TrainingRow(file, options, pipeline);
  CHECK(ServedRow(file, pipeline) == trained);
}

ConvertOptions KeptForm() {
  ConvertOptions options;
  options.form.keep = true;
  return options;
}

FileBytes SomeJpeg(const JpegOptions& form = {}, std::uint32_t channels = 3) {
  return MakeJpeg(MakePicture(80, 64, channels), form);
}

}  // namespace

TEST_CASE("a JPEG is served with the pixels that a conversion keeps, whatever its coding") {
  CheckServed("4:2:0", SomeJpeg(), KeptForm());
  CheckServed("4:4:4", SomeJpeg({.subsample = false}), KeptForm());
  CheckServed("own Huffman tables", SomeJpeg({.optimise = true}), KeptForm());
  CheckServed("progressive", SomeJpeg({.progressive = true}), KeptForm());
  ConvertOptions grey = KeptForm();  // for three channels, a conversion would encode the file anew
  grey.form.channels = 1;
  CheckServed("grey", SomeJpeg({}, 1), grey);
}

TEST_CASE("a JPEG that Exif or XMP turns is served upright") {
  for (std::uint16_t orientation = 1; orientation <= 8; ++orientation) {
    CheckServed("Exif", WithOrientation(SomeJpeg(), orientation), KeptForm());
  }
  CheckServed("XMP", WithXmp(SomeJpeg(), "<x tiff:Orientation=\"6\"/>"), KeptForm());
  // This picture cannot be turned block by block: its cut-off blocks would come to the left or top.
  CheckServed("an odd size", WithOrientation(MakeJpeg(MakePicture(75, 51)), 6), AsTheyAre());
}

TEST_CASE("JPEGs in other colours are served with the pixels that a conversion stores raw") {
  CheckServed("RGB", SomeJpeg({.stored = JCS_RGB}), AsTheyAre());
  CheckServed("CMYK", EncodeWith(MakePicture(60, 48, 4), [](jpeg_compress_struct&) {}),
              AsTheyAre());
}

TEST_CASE(
    "bytes after a JPEG's picture are passed over, but zeros in place of its end are refused") {
  const FileBytes jpeg = SomeJpeg();
  FileBytes longer = jpeg;
  longer.insert(longer.end(), 1000, std::byte{0x55});
  CheckServed("more bytes", longer, KeptForm());
  FileBytes zeros = Truncated(jpeg, jpeg.size() / 2);
  zeros.resize(jpeg.size());
  const std::function<ImagePayload(Bytes)> read = ImageFileReader();
  try {
    read(zeros);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kCorrupt);
    CHECK_THAT(error.what(), ContainsSubstring("cut short"));
  }
}

TEST_CASE("a reader that warns names 16-bit images that use a small part of their range") {
  // A pixel of grey, big-endian: 12 bits, and the whole range.
  const auto grey = [](std::uint8_t high) {
    return MakePng(1, 1, std::vector<std::uint8_t>{high, 0xFF}, {.color_type = 0, .bit_depth = 16});
  };
  std::vector<std::string> warnings;
  const auto read = WarningImageFileReader(
      [&](const std::string& sentence) { warnings.push_back(sentence); })(3, 1000);
  CHECK(read(grey(0xFF)).width == 1);
  CHECK(warnings.empty());
  CHECK(read(grey(0x0F)).width == 1);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], ContainsSubstring("less than a quarter of the range"));
  CHECK(ImageFileReader()(grey(0x0F)).width == 1);
}

TEST_CASE("an upright baseline JPEG is not copied") {
  const FileBytes jpeg = SomeJpeg();
  const ImagePayload image = ImageFileReader()(jpeg);
  CHECK(image.bytes.data() == jpeg.data());
  CHECK(image.bytes.size() == jpeg.size());
  CHECK((image.width == 80 && image.height == 64 && image.channels == 3));
}

TEST_CASE("images of other kinds are served with the pixels that a conversion stores raw") {
  const Picture picture = MakePicture(75, 51);
  CheckServed("PNG", MakePng(picture), AsTheyAre());
  CheckServed("a PNG that convert would shrink", MakePng(MakePicture(640, 300)), AsTheyAre());
  CheckServed("a PNG with transparent pixels",
              MakePng(2, 1, {1, 2, 3, 40, 5, 6, 7, 255}, {.color_type = 6}), AsTheyAre());
  CheckServed("a turned PNG", MakePng(2, 1, {1, 2, 3, 4, 5, 6}, {.orientation = 6}), AsTheyAre());
  std::string ppm = "P6 75 51 255\n";
  ppm.append(reinterpret_cast<const char*>(picture.pixels.data()), picture.pixels.size());
  const Bytes bytes = AsBytes(ppm);
  CheckServed("PPM", FileBytes(bytes.begin(), bytes.end()), AsTheyAre());
#ifdef SLUICE_HAS_AVIF
  CheckServed("AVIF", Avif(picture), AsTheyAre());
#endif
#ifdef SLUICE_HAS_JXL
  CheckServed("JPEG XL", Jxl(picture), AsTheyAre());
#endif
#ifdef SLUICE_HAS_JP2
  CheckServed("JPEG 2000", Jp2(picture), AsTheyAre());
#endif
}

TEST_CASE("a file that is not an image, or has too many pixels, is refused with that reason") {
  const auto refusal = [](const std::function<ImagePayload(Bytes)>& read, Bytes file) {
    try {
      read(file);
      return std::string("no error");
    } catch (const Error& error) {
      return std::string(ErrorCodeName(error.code())) + ": " + error.what();
    }
  };
  CHECK_THAT(refusal(ImageFileReader(), AsBytes("some text")), ContainsSubstring("unsupported"));
  CHECK_THAT(refusal(ImageFileReader(), {}), ContainsSubstring("unsupported"));
  CHECK_THAT(refusal(ImageFileReader(3, 100), SomeJpeg()), ContainsSubstring("80x64 pixels"));
  CHECK_THAT(refusal(ImageFileReader(3, 100), MakePng(MakePicture(20, 20))),
             ContainsSubstring("20x20 pixels"));
}

}  // namespace sluice::test
