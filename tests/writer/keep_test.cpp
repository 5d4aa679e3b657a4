// `keep`: coefficients stay as they are in the source. Two JPEGs with the same coefficients and
// quantisation decode to the same pixels, so the tests compare libjpeg's decodings.
#include <algorithm>

#include <sluice/convert.h>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

ConvertOptions Keep() {
  ConvertOptions options;
  options.form.keep = true;
  return options;
}

struct Kept {
  bool kept = false;
  StoredField image;
  Picture picture;
};

Kept ConvertKept(const FileBytes& file, const ConvertOptions& options = Keep()) {
  const TemporaryFolder folder;
  WriteSource(folder / "source" / "one", file);
  const ConvertSummary summary = Convert(folder / "source", folder / "data", options);
  REQUIRE(summary.samples == 1);
  const StoredSample sample = ReadDataset(folder / "data").samples[0];
  return {summary.kept == 1, sample.fields[0], sample.Pixels(options.form.channels)};
}

// Offset of the first marker of this kind, or the file's size.
std::size_t FindMarker(const FileBytes& file, std::uint8_t marker) {
  for (std::size_t i = 0; i + 1 < file.size(); ++i) {
    if (file[i] == std::byte{0xFF} && file[i + 1] == std::byte{marker}) return i;
  }
  return file.size();
}

bool Has(const FileBytes& file, std::uint8_t marker) {
  return FindMarker(file, marker) != file.size();
}

}  // namespace

TEST_CASE("a JPEG that needs no change keeps its coefficients, and gets restart markers") {
  const FileBytes file = MakeJpeg(MakePicture(75, 51), {.quality = 60});
  const Kept kept = ConvertKept(file);
  CHECK(kept.kept);
  CHECK(Difference(kept.picture, DecodeJpeg(file)) == 0);
  CHECK_FALSE(Has(file, 0xDD));
  CHECK(Has(kept.image.bytes, 0xDD));
  CHECK(Has(kept.image.bytes, 0xD0));
  CHECK(kept.image.width == 75);
  CHECK(kept.image.height == 51);
  ConvertOptions without = Keep();
  without.form.restart_markers = false;
  CHECK_FALSE(Has(ConvertKept(file, without).image.bytes, 0xDD));
}

TEST_CASE("progressive, arithmetic and optimised files become baseline with the same pixels") {
  const Picture picture = MakePicture(90, 70);
  std::vector<FileBytes> files = {
      MakeJpeg(picture, {.progressive = true}),
      EncodeWith(picture, [](jpeg_compress_struct& jpeg) { jpeg.optimize_coding = TRUE; })};
#ifdef C_ARITH_CODING_SUPPORTED
  files.push_back(EncodeWith(picture, [](jpeg_compress_struct& jpeg) { jpeg.arith_code = TRUE; }));
#endif
  for (const FileBytes& file : files) {
    const Kept kept = ConvertKept(file);
    CHECK(kept.kept);
    CHECK(Difference(kept.picture, DecodeJpeg(file)) == 0);
    CHECK(Has(kept.image.bytes, 0xC0));
    CHECK_FALSE(Has(kept.image.bytes, 0xC2));
  }
}

TEST_CASE("every usual sampling is kept") {
  for (const std::pair<int, int>& factors : {std::pair(1, 1), {2, 1}, {1, 2}, {2, 2}, {4, 1}}) {
    const FileBytes file = EncodeWith(MakePicture(83, 45), [&](jpeg_compress_struct& jpeg) {
      jpeg.comp_info[0].h_samp_factor = factors.first;
      jpeg.comp_info[0].v_samp_factor = factors.second;
    });
    const Kept kept = ConvertKept(file);
    CHECK(kept.kept);
    CHECK(Difference(kept.picture, DecodeJpeg(file)) == 0);
  }
}

TEST_CASE("metadata is dropped") {
  const Kept kept = ConvertKept(WithOrientation(MakeJpeg(MakePicture(32, 32)), 1));
  CHECK(kept.kept);
  CHECK_FALSE(Has(kept.image.bytes, 0xE1));
}

TEST_CASE("resized images are encoded with `quality`, and not counted as kept") {
  const Kept kept = ConvertKept(MakeJpeg(MakePicture(600, 300), {.quality = 40}));
  CHECK_FALSE(kept.kept);
  CHECK(kept.image.width == 500);
}

TEST_CASE("images that cannot be kept are encoded with `quality`") {
  const auto not_kept = [](const FileBytes& file, const ConvertOptions& options = Keep()) {
    Kept kept = ConvertKept(file, options);
    CHECK_FALSE(kept.kept);
    return kept;
  };
  const FileBytes rgb = MakeJpeg(MakePicture(40, 40), {.stored = JCS_RGB});
  CHECK(Difference(not_kept(rgb).picture, DecodeJpeg(rgb)) < 6);
  not_kept(EncodeWith(MakePicture(40, 40, 4), [](jpeg_compress_struct&) {}));
  not_kept(MakePng(MakePicture(40, 40)));
  CHECK(not_kept(MakeJpeg(MakePicture(40, 40, 1))).image.channels == 3);
  ConvertOptions grey = Keep();
  grey.form.channels = 1;
  CHECK(not_kept(MakeJpeg(MakePicture(40, 40)), grey).image.channels == 1);
  // Quantisation steps above 255 are not allowed in baseline.
  not_kept(EncodeWith(MakePicture(40, 40),
                      [](jpeg_compress_struct& jpeg) { jpeg_set_quality(&jpeg, 3, FALSE); }));
}

TEST_CASE("grey files are kept if grey is requested") {
  const FileBytes file = MakeJpeg(MakePicture(45, 33, 1));
  ConvertOptions options = Keep();
  options.form.channels = 1;
  const Kept kept = ConvertKept(file, options);
  CHECK(kept.kept);
  CHECK(kept.image.channels == 1);
  CHECK(Difference(kept.picture, DecodeJpeg(file, 1)) == 0);
}

TEST_CASE("an image of whole blocks is turned without loss, and other images are encoded again") {
  for (int orientation = 2; orientation <= 8; ++orientation) {
    INFO("orientation " << orientation);
    const auto value = static_cast<std::uint16_t>(orientation);
    const FileBytes whole = WithOrientation(MakeJpeg(MakePicture(64, 48)), value);
    const Kept kept = ConvertKept(whole);
    CHECK(kept.kept);
    const bool turned = orientation >= 5;
    CHECK(kept.image.width == (turned ? 48U : 64U));
    CHECK(kept.image.height == (turned ? 64U : 48U));
    // The turned picture is close to the one that is decoded, turned and encoded with quality 100.
    ConvertOptions encoded = Keep();
    encoded.form.keep = false;
    encoded.form.quality = 100;
    encoded.form.subsampling = Subsampling::k444;
    CHECK(Difference(kept.picture, ConvertKept(whole, encoded).picture) < 1.5);
    CHECK_FALSE(Has(kept.image.bytes, 0xE1));
    // 60 and 44 are not multiples of 16, but a transposition alone does not need that.
    const FileBytes cut = WithOrientation(MakeJpeg(MakePicture(60, 44)), value);
    CHECK(ConvertKept(cut).kept == (orientation == 5));
  }
}

TEST_CASE("a broken file is left out and not kept") {
  const TemporaryFolder folder;
  const FileBytes whole = MakeJpeg(MakePicture(80, 80));
  WriteSource(folder / "source" / "half", Truncated(whole, whole.size() / 2));
  WriteSource(folder / "source" / "whole", whole);
  const ConvertSummary summary = Convert(folder / "source", folder / "data", Keep());
  CHECK(summary.kept == 1);
  CHECK(summary.skipped.size() == 1);
}

}  // namespace sluice::test
