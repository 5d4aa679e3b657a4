// A JPEG that keeps its size is recoded: its coefficients stay as near to the source's as the new
// quantisation steps allow, both as a JPEG and packed. Where that is impossible, its pixels are
// encoded.
#include <algorithm>

#include <sluice/convert.h>

#include "format/pixels/packed/pack.h"
#include "tests/catch.h"
#include "tests/recoding.h"
#include "tests/temporary_folder.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

StoredSample StoreOne(const FileBytes& file, const ConvertOptions& options) {
  const TemporaryFolder folder;
  WriteSource(folder / "source" / "one", file);
  REQUIRE(Convert(folder / "source", folder / "data", options).samples == 1);
  return ReadDataset(folder / "data").samples[0];
}

}  // namespace

TEST_CASE("the coefficients of a JPEG that keeps its size change as little as the steps allow") {
  struct Case {
    bool halved_source, halved;  // whether the source and the result have halved chroma
    std::uint32_t channels;
  };
  for (const Case& one :
       {Case{true, true, 3}, {false, true, 3}, {false, false, 3}, {true, true, 1}}) {
    INFO(one.halved_source << one.halved << one.channels);
    const FileBytes file = MakeJpeg(MakePicture(203, 117, one.channels),
                                    {.quality = 93, .subsample = one.halved_source});
    ConvertOptions options;
    options.form.quality = 80;
    options.form.subsampling = one.halved ? Subsampling::k420 : Subsampling::k444;
    options.form.channels = one.channels;
    const StoredSample sample = StoreOne(file, options);
    const StoredField& image = sample.fields[0];
    REQUIRE(image.codec == Codec::kJpeg);
    CHECK(image.width == 203);
    CHECK(image.height == 117);
    CHECK(image.channels == one.channels);
    const packed::Coefficients from = BlocksOf(file);
    const packed::Coefficients to = BlocksOf(image.bytes);
    for (std::uint32_t c = 0; c < one.channels; ++c) {
      if (c == 0 || one.halved_source == one.halved) CHECK(CountFarther(from, to, c) == 0);
    }
    CHECK(Difference(sample.Pixels(one.channels), DecodeJpeg(file, one.channels)) < 4);
    // The packed form has the same blocks.
    options.form.image = ImageCodec::kPacked;
    const StoredField packed_image = StoreOne(file, options).fields[0];
    REQUIRE(packed_image.codec == Codec::kPacked);
    packed::Coefficients unpacked;
    REQUIRE(packed::Unpack(packed_image.bytes, unpacked) == nullptr);
    CHECK((packed::WriteJpeg(unpacked) == image.bytes));
  }
}

TEST_CASE("a JPEG whose coefficients have no codes at the new steps is stored by its pixels") {
  FileBytes file = MakeJpeg(MakePicture(120, 80), {.quality = 90});
  const std::byte table[] = {std::byte{0xFF}, std::byte{0xDB}};
  const auto at = std::search(file.begin(), file.end(), std::begin(table), std::end(table));
  REQUIRE(at != file.end());
  // With steps of 255, the old coefficients stand for values far beyond black and white.
  std::fill(at + 5, at + 5 + 64, std::byte{255});
  ConvertOptions options;
  options.form.quality = 100;
  const StoredSample sample = StoreOne(file, options);
  CHECK(Difference(sample.Pixels(), DecodeJpeg(file)) < 3);
}

}  // namespace sluice::test
