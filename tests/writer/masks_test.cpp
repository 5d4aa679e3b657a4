// Masks: their values, and how they follow their image.
#include <sluice/convert.h>
#include <sluice/error.h>

#include "format/disk/zstd.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"
#include "writer/fit/fit.h"

namespace sluice::test {

namespace {

using Values = std::vector<std::uint8_t>;

Values DecodedOf(const FileBytes& png) {
  return DecodeMask(png, 1000).pixels;
}

// The bytes of a stored mask's values, decompressed.
Values Stored(const StoredField& field) {
  std::vector<std::byte> bytes = field.bytes;
  if (field.codec == Codec::kZstd) {
    bytes.resize(std::size_t{field.width} * field.height * field.channels *
                 SizeOf(field.pixel_type));
    REQUIRE(ZstdDecompress(field.bytes, bytes));
  }
  Values values(bytes.size());
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// The upright mask of a file with this orientation, whose 3x2 pixels are numbered row by row.
Values Turned(unsigned orientation) {
  MaskPicture mask{3, 2, 1, 1, {0, 1, 2, 3, 4, 5}};
  Placement placement{3, 2, OrientationOf(orientation), {}};
  ConvertOptions options;
  placement.geometry = FitGeometry(placement.upright_width(), placement.upright_height(), options);
  return FitMask(std::move(mask), placement).pixels;
}

}  // namespace

TEST_CASE("a mask has the values of its file, not as colours and not scaled") {
  CHECK(DecodedOf(MakePng(3, 1, {0b01100000}, {.color_type = 0, .bit_depth = 1})) ==
        Values{0, 1, 1});
  CHECK(DecodedOf(MakePng(3, 2, {0b00011011 & 0xFC, 0b11100100 & 0xFC},
                          {.color_type = 0, .bit_depth = 2})) == Values{0, 1, 2, 3, 2, 1});
  CHECK(DecodedOf(MakePng(3, 1, {0x0F, 0x70},
                          {.color_type = 3, .bit_depth = 4, .palette = Values(48, 200)})) ==
        Values{0, 15, 7});
  CHECK(DecodedOf(MakePng(2, 1, {7, 255}, {.color_type = 0})) == Values{7, 255});
  CHECK(DecodedOf(MakePng(1, 1, {1, 2, 3}, {.color_type = 2})) == Values{1, 2, 3});
  // 16 bits: big-endian in the file, native in memory.
  CHECK(DecodedOf(MakePng(1, 1, {0x12, 0x34}, {.color_type = 0, .bit_depth = 16})) ==
        Values{0x34, 0x12});
  CHECK(CodeOf([] { DecodeMask(MakePng(40, 40, Values(1600), {.color_type = 0}), 1000); }) ==
        ErrorCode::kLimit);
  CHECK(CodeOf([] {
          DecodeMask(Truncated(MakePng(2, 1, {7, 9}, {.color_type = 0}), 50), 1000);
        }) == ErrorCode::kCorrupt);
}

TEST_CASE("a mask turns with every orientation") {
  CHECK(Turned(1) == Values{0, 1, 2, 3, 4, 5});
  CHECK(Turned(2) == Values{2, 1, 0, 5, 4, 3});
  CHECK(Turned(3) == Values{5, 4, 3, 2, 1, 0});
  CHECK(Turned(4) == Values{3, 4, 5, 0, 1, 2});
  CHECK(Turned(5) == Values{0, 3, 1, 4, 2, 5});
  CHECK(Turned(6) == Values{3, 0, 4, 1, 5, 2});
  CHECK(Turned(7) == Values{5, 2, 4, 1, 3, 0});
  CHECK(Turned(8) == Values{2, 5, 1, 4, 0, 3});
}

TEST_CASE("masks of a folder are stored losslessly at their image's size, by nearest pixels") {
  const TemporaryFolder folder;
  Values checks;  // 40x20 pixels, in squares of 10x10
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x < 40; ++x)
      checks.push_back(static_cast<std::uint8_t>(x / 10 + 4 * (y / 10)));
  }
  WriteSource(folder / "images/a/1.jpg", MakeJpeg(MakePicture(40, 20)));
  WriteSource(folder / "images/b/2.jpg", MakeJpeg(MakePicture(40, 20)));
  WriteSource(folder / "images/b/3.jpg", MakeJpeg(MakePicture(40, 20)));
  WriteSource(folder / "masks/a/1.png", MakePng(40, 20, checks, {.color_type = 0}));
  WriteSource(folder / "masks/b/2.png", MakePng(20, 10, Values(200), {.color_type = 0}));
  ConvertSource source(folder / "images");
  source.mask_folder = folder / "masks";
  ConvertOptions options;
  options.geometry.max_side = 8;
  const ConvertSummary summary = Convert(source, folder / "data", options);
  REQUIRE(summary.skipped.size() == 2);
  CHECK(summary.skipped[0].path == "b/2.jpg");
  CHECK(summary.skipped[0].reason == "its mask is 20x10 and the image 40x20");
  CHECK(summary.skipped[1].path == "b/3.jpg");
  CHECK(summary.skipped[1].reason.find("its mask b/3.png cannot be opened") == 0);
  const StoredDataset data = ReadDataset(folder / "data");
  REQUIRE(data.samples.size() == 1);
  const StoredField& mask = data.samples[0].fields[2];
  CHECK(data.manifest.schema.fields[2].role == Role::kMask);
  CHECK(data.manifest.schema.fields[2].follows == "image");
  CHECK(mask.width == 8);
  CHECK(mask.height == 4);
  CHECK(Stored(mask) == Values{0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3,
                               4, 4, 5, 5, 6, 6, 7, 7, 4, 4, 5, 5, 6, 6, 7, 7});
}

TEST_CASE("images whose mask has another form than the first one are left out") {
  const TemporaryFolder folder;
  for (const char* name : {"1.jpg", "2.jpg", "3.jpg", "4.jpg"})
    WriteSource(folder / "images" / name, MakeJpeg(MakePicture(4, 2)));
  WriteSource(folder / "masks/1.png", Truncated(MakePng(4, 2, Values(24), {.color_type = 2}), 40));
  WriteSource(folder / "masks/2.png", MakePng(4, 2, Values(8), {.color_type = 0}));
  WriteSource(folder / "masks/3.png", MakePng(4, 2, Values(24), {.color_type = 2}));
  WriteSource(folder / "masks/4.png",
              MakePng(4, 2, Values(16), {.color_type = 0, .bit_depth = 16}));
  ConvertSource source(folder / "images");
  source.mask_folder = folder / "masks";
  const ConvertSummary summary = ConvertBothWays(source, folder / "data", {});
  CHECK(summary.samples == 1);
  REQUIRE(summary.skipped.size() == 3);
  CHECK(summary.skipped[1].path == "3.jpg");
  CHECK(summary.skipped[1].reason.starts_with(
      "its mask holds 3 x uint8, and that of 2.jpg 1 x uint8; the masks of a dataset have one "
      "form"));
  CHECK(summary.skipped[2].path == "4.jpg");
  CHECK(summary.skipped[2].reason.starts_with("its mask holds 1 x uint16, and that of 2.jpg"));
}

TEST_CASE("a mask whose name differs in case is found, unless it belongs to another image") {
  const TemporaryFolder folder;
  for (const char* name : {"a/One.jpg", "b/2.jpg", "b/x.jpg", "b/X.jpg"})
    WriteSource(folder / "images" / name, MakeJpeg(MakePicture(40, 20)));
  for (const char* name : {"A/one.PNG", "b/2.png", "b/X.png"})
    WriteSource(folder / "masks" / name, MakePng(40, 20, Values(800), {.color_type = 0}));
  ConvertSource source(folder / "images");
  source.mask_folder = folder / "masks";
  const ConvertSummary summary = Convert(source, folder / "data");
  CHECK(summary.samples == 3);
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].path == "b/x.jpg");
  REQUIRE(summary.warnings.size() == 1);
  CHECK(summary.warnings[0] ==
        "a path does not exist as written, and was taken for another: a/One.png, which is "
        "A/one.PNG");
}

TEST_CASE("if a mask's file has changed its size, the dataset made before is refused") {
  const TemporaryFolder folder;
  WriteSource(folder / "images/1.jpg", MakeJpeg(MakePicture(4, 2)));
  WriteSource(folder / "masks/1.png", MakePng(4, 2, Values(8), {.color_type = 0}));
  ConvertSource source(folder / "images");
  source.mask_folder = folder / "masks";
  Convert(source, folder / "data");
  WriteSource(folder / "masks/1.png",
              MakePng(4, 2, {1, 29, 3, 74, 5, 96, 7, 118}, {.color_type = 0}));
  CHECK(CodeOf([&] { Convert(source, folder / "data"); }) == ErrorCode::kExists);
  source.mask_folder = folder / "none";
  CHECK(CodeOf([&] { Convert(source, folder / "other"); }) == ErrorCode::kNotFound);
}

}  // namespace sluice::test
