// EncodeJpeg() gives the bytes of libjpeg-turbo's encoder, from RGB and grey. EncodePacked() gives
// the packed form of the same JPEG.
#include "format/pixels/packed/pack.h"
#include "format/random.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "writer/convert/image_encoder.h"
#include "writer/encode/jpeg.h"

namespace sluice::test {

namespace {

void CheckSame(const Picture& picture, bool subsample, int quality, bool restart_markers) {
  ConvertOptions options;
  options.form.quality = quality;
  options.form.restart_markers = restart_markers;
  options.form.subsampling = subsample ? Subsampling::k420 : Subsampling::k444;
  const sluice::Picture pixels{picture.width, picture.height, picture.channels, picture.pixels};
  const std::vector<std::byte> ours = EncodeJpeg(pixels, options);
  const std::vector<std::byte> expected =
      MakeJpeg(picture, {.quality = quality,
                         .subsample = subsample && picture.channels == 3,
                         .restart_rows = restart_markers ? 1 : 0});
  INFO(picture.width << "x" << picture.height << "x" << picture.channels << ", quality "
                     << quality);
  CHECK((ours ==
         expected));  // in parentheses, so that Catch2 does not print the bytes if they differ
  packed::Coefficients blocks;
  std::string why;
  REQUIRE(packed::ReadCoefficients(expected, blocks, why) == packed::Taken::kYes);
  CHECK((EncodePacked(pixels, options) == packed::Pack(blocks)));
}

Picture Noise(std::uint32_t width, std::uint32_t height, std::uint32_t channels) {
  Picture picture{width, height, channels, {}};
  RandomStream random(5, static_cast<Purpose>(999), 0);
  for (std::size_t i = 0; i < std::size_t{width} * height * channels; ++i)
    picture.pixels.push_back(static_cast<std::uint8_t>(random.Below(256)));
  return picture;
}

}  // namespace

TEST_CASE("a reason keeps the quotes of its sentence, and is printable ASCII") {
  CHECK(ToReason("has \"a\"") == "has 'a'");
  CHECK(ToReason("a\\b\n\xc3\xa9") == "a?b???");
  CHECK(ToReason(std::string(1000, 'x')).size() == kMaxReasonBytes);
}

TEST_CASE("pixels become libjpeg's bytes, at any size") {
  for (std::uint32_t width = 1; width <= 35; ++width) {
    for (const std::uint32_t height : {1U, 2U, 7U, 8U, 9U, 15U, 16U, 17U, 33U}) {
      for (const bool subsample : {true, false})
        CheckSame(Noise(width, height, 3), subsample, 90, true);
      CheckSame(Noise(width, height, 1), true, 90, true);
    }
  }
}

TEST_CASE("pixels become libjpeg's bytes, at any quality") {
  const Picture picture = MakePicture(75, 51);
  const Picture noise = Noise(52, 39, 3);
  for (int quality = 1; quality <= 100; ++quality) {
    for (const bool subsample : {true, false}) {
      CheckSame(picture, subsample, quality, quality % 2 == 1);
      CheckSame(noise, subsample, quality, false);
    }
  }
}

TEST_CASE("colours of the whole range have libjpeg's Y, Cb and Cr") {
  // Each colour of a coarse grid fills a block of 8x8 pixels. Quality 100 keeps its value.
  Picture picture{8 * 18, 8 * 18, 3, {}};
  for (int red = 0; red < 256; red += 15) {
    picture.pixels.clear();
    for (std::uint32_t y = 0; y < picture.height; ++y) {
      for (std::uint32_t x = 0; x < picture.width; ++x) {
        for (const std::uint32_t value : {static_cast<std::uint32_t>(red), x / 8 * 15, y / 8 * 15})
          picture.pixels.push_back(static_cast<std::uint8_t>(value));
      }
    }
    CheckSame(picture, false, 100, true);
  }
}

TEST_CASE("a very wide picture is encoded") {
  CheckSame(MakePicture(65'500, 20, 1), true, 50, false);
}

}  // namespace sluice::test
