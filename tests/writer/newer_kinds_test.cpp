// AVIF, HEIF, JPEG XL and JPEG 2000. The libraries' own encoders make the files, without loss (for
// HEIF: almost).
#include <functional>

#include "tests/catch.h"
#include "tests/newer_pictures.h"
#include "tests/writer/converted.h"

namespace sluice::test {

namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

// A colour with each opacity from 1 to 255, and the result over a background.
struct Transparent {
  Picture picture{255, 1, 4, {}};
  Picture expected{255, 1, 3, {}};
  ConvertOptions options = AsTheyAre();

  Transparent() {
    options.form.background = {200, 100, 0};
    for (int x = 1; x < 256; ++x) {
      const int values[] = {10, 240, x};
      for (int c = 0; c < 3; ++c) {
        picture.pixels.push_back(static_cast<std::uint8_t>(values[c]));
        expected.pixels.push_back(Over(values[c] / 255.0, x / 255.0,
                                       options.form.background[static_cast<std::size_t>(c)]));
      }
      picture.pixels.push_back(static_cast<std::uint8_t>(x));
    }
  }
};

[[maybe_unused]] void CheckTransparency(FileBytes (*encode)(const Picture&)) {
  const Transparent pixels;
  CHECK(Difference(ConvertOne(encode(pixels.picture), pixels.options).picture, pixels.expected) ==
        0);
}

// Images of 8 and of more bits, with values below and above a quarter of the range.
[[maybe_unused]] void CheckDim(const std::function<FileBytes(const Picture&, bool deep)>& encode) {
  for (const bool deep : {false, true}) {
    for (const std::uint8_t value : {40, 80}) {
      const Picture picture{64, 64, 3, std::vector<std::uint8_t>(64 * 64 * 3, value)};
      CAPTURE(deep, value);
      const Converted converted = ConvertOne(encode(picture, deep));
      CHECK(converted.reason.empty());
      CHECK((converted.summary.dim.count == 1) == (deep && value < 64));
    }
  }
}

// Checks the reasons for leaving out copies of the file: cut short; cut short and followed by
// zeros; cut off after 33 bytes; damaged from there on; with more pixels than allowed.
[[maybe_unused]] void CheckRefusals(const FileBytes& file, const std::string& name) {
  INFO(name);
  const std::string cut_short = "broken " + name + ": it is cut short";
  FileBytes zeros = Truncated(file, file.size() * 3 / 4);
  CHECK_THAT(ConvertOne(zeros).reason, StartsWith(cut_short));
  zeros.resize(zeros.size() + 600);
  CHECK_THAT(ConvertOne(zeros).reason, StartsWith(cut_short));
  CHECK_THAT(ConvertOne(Truncated(file, 33)).reason, StartsWith("broken " + name));
  FileBytes damaged = file;
  std::fill(damaged.begin() + 33, damaged.end(), std::byte{0xFF});
  CHECK_FALSE(ConvertOne(damaged).reason.empty());
  ConvertOptions options = AsTheyAre();
  options.run.max_pixels = 4000;
  CHECK_THAT(ConvertOne(file, options).reason, ContainsSubstring("of max_pixels"));
}

// Checks that a file with 60,000 entries in one of its tables of items is refused. Its boxes are
// written by ISO/IEC 14496-12, 4.2 and 8.11.
[[maybe_unused]] void CheckManyItems(const std::string& brand) {
  const auto box = [](const std::string& content) {
    const auto size = static_cast<std::uint32_t>(content.size() + 4);
    std::string whole;
    for (int shift = 24; shift >= 0; shift -= 8)
      whole += static_cast<char>(size >> shift);
    return whole + content;
  };
  const std::string table = GENERATE(std::string("iinf\0\0\0\0\xEA\x60", 10),
                                     std::string("iloc\0\0\0\0\x44\0\xEA\x60", 12),
                                     std::string("iprp\0\0\0\x10ipma\0\0\0\0\0\0\xEA\x60", 20));
  const std::string file = box("ftyp" + brand + std::string(4, '\0') + brand) +
                           box("meta" + std::string(4, '\0') + box(table)) + std::string(40, 'x');
  const Bytes bytes = AsBytes(file);
  CHECK_THAT(ConvertOne(FileBytes(bytes.begin(), bytes.end())).reason,
             StartsWith("unsupported ") && ContainsSubstring("60000"));
}

}  // namespace

#ifdef SLUICE_HAS_AVIF
TEST_CASE("AVIFs keep their pixels, also grey, transparent and deep ones") {
  const Picture picture = MakePicture(31, 17);
  CHECK(Difference(ConvertOne(Avif(picture)).picture, picture) == 0);
  CHECK(Difference(ConvertOne(AvifWith(picture, {.depth = 10})).picture, picture) == 0);
  Picture grey{8, 2, 3, {}};
  for (int i = 0; i < 48; ++i)
    grey.pixels.push_back(static_cast<std::uint8_t>(i / 3 * 16));
  const Converted one = ConvertOne(AvifWith(grey, {.grey = true}), AsTheyAre(1));
  REQUIRE(one.picture.pixels.size() == 16);
  CHECK(one.picture.pixels[5] == 80);
  CheckTransparency(Avif);
}

TEST_CASE("deep AVIFs that use a small part of their range are dim") {
  CheckDim([](const Picture& picture, bool deep) {
    return AvifWith(picture, {.depth = deep ? 10U : 8U});
  });
}

TEST_CASE("an AVIF's own rotation and mirroring turn it once, and Exif does not turn it again") {
  const Picture upright = MakePicture(12, 7);
  // Exif with orientation 6: phones write it in addition to the rotation.
  const std::string exif("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0", 26);
  // By angle, then by mirroring (none, 0, 1): the Exif orientation that has the same effect.
  const int orientations[4][3] = {{1, 4, 2}, {8, 5, 7}, {3, 2, 4}, {6, 7, 5}};
  for (int angle = 0; angle < 4; ++angle) {
    for (int mirror = -1; mirror < 2; ++mirror) {
      const int orientation = orientations[angle][mirror + 1];
      INFO("angle " << angle << ", mirror " << mirror << ", as Exif's " << orientation);
      const FileBytes file =
          AvifWith(Stored(upright, orientation), {.angle = angle, .mirror = mirror, .exif = exif});
      CHECK(Difference(ConvertOne(file).picture, upright) == 0);
    }
  }
}

TEST_CASE("an AVIF that ends early, is damaged or is huge is left out with a reason") {
  CheckRefusals(Avif(MakePicture(90, 60)), "AVIF");
}

TEST_CASE("an AVIF with 60,000 items is refused before libavif compares them") {
  CheckManyItems("avif");
}
#endif

#ifdef SLUICE_HAS_HEIF
TEST_CASE("HEIFs keep their pixels, and are turned by their own rotation") {
  const Picture upright = MakePicture(64, 70);
  if (Heif(upright).empty()) {
    WARN("libheif has no encoder of HEVC here");
    return;
  }
  CHECK(Difference(ConvertOne(Heif(upright)).picture, upright) < 0.5);
  for (const int orientation : {2, 6, 8}) {
    INFO("orientation " << orientation);
    // x265 is not exactly lossless for sizes that do not fill its blocks.
    CHECK(Difference(ConvertOne(HeifWith(Stored(upright, orientation), orientation)).picture,
                     upright) < 0.5);
  }
  CheckRefusals(Heif(upright), "HEIF");
}
#endif

#ifdef SLUICE_HAS_HEIF
TEST_CASE("a HEIF with 60,000 items is refused before libheif reads them") {
  CheckManyItems("heic");
}
#endif

#ifdef SLUICE_HAS_JXL
TEST_CASE("JPEG XLs keep their pixels, also grey, transparent and deep ones") {
  const Picture picture = MakePicture(31, 17);
  CHECK(Difference(ConvertOne(Jxl(picture)).picture, picture) == 0);
  const Picture grey = MakePicture(9, 5, 1);
  CHECK(ConvertOne(Jxl(grey), AsTheyAre(1)).picture.pixels == grey.pixels);
  CheckTransparency(Jxl);
  const std::vector<std::uint16_t> deep = {0, 128, 129, 32'768, 65'406, 65'407};
  CHECK(ConvertOne(JxlWith(deep.data(), 2, 1, 3, 16)).picture.pixels ==
        std::vector<std::uint8_t>{0, 0, 1, 128, 254, 255});  // v / 257, rounded
}

TEST_CASE("deep JPEG XLs that use a small part of their range are dim") {
  CheckDim([](const Picture& picture, bool deep) {
    std::vector<std::uint16_t> values;
    for (const std::uint8_t value : picture.pixels)
      values.push_back(static_cast<std::uint16_t>(value * 257));
    return deep ? JxlWith(values.data(), picture.width, picture.height, 3, 16)
                : JxlWith(picture.pixels.data(), picture.width, picture.height, 3, 8);
  });
}

TEST_CASE("a JPEG XL's orientation turns it, and a colour space that is not sRGB is counted") {
  const Picture upright = MakePicture(12, 7);
  for (const int orientation : {1, 3, 6, 7}) {
    INFO("orientation " << orientation);
    const Picture stored = Stored(upright, orientation);
    const FileBytes file = JxlWith(stored.pixels.data(), stored.width, stored.height, 3, 8,
                                   {.orientation = static_cast<unsigned>(orientation)});
    const Converted converted = ConvertOne(file);
    CHECK(Difference(converted.picture, upright) == 0);
    CHECK(converted.summary.profiles_dropped == 0);
  }
  const FileBytes linear = JxlWith(upright.pixels.data(), 12, 7, 3, 8, {.linear = true});
  CHECK(ConvertOne(linear).summary.profiles_dropped == 1);
#ifdef SLUICE_HAS_LCMS
  ConvertOptions convert = AsTheyAre();
  convert.form.icc = IccProfiles::kConvert;
  const std::uint8_t value = upright.pixels[0];
  const double srgb = 255 * (1.055 * std::pow(value / 255.0, 1 / 2.4) - 0.055);
  CHECK(std::abs(ConvertOne(linear, convert).picture.pixels[0] - srgb) < 3);
#endif
}

TEST_CASE("a JPEG XL may have up to four channels in addition to its colours") {
  const Picture picture = MakePicture(9, 5);
  const auto convert = [&picture](std::uint32_t depths) {
    return ConvertOne(JxlWith(picture.pixels.data(), 9, 5, 3, 8, {.depths = depths}));
  };
  CHECK(Difference(convert(4).picture, picture) == 0);
  CHECK_THAT(convert(5).reason, ContainsSubstring("5 channels besides its colours"));
}

TEST_CASE("a JPEG XL that ends early, is damaged or is huge is left out with a reason") {
  const Picture picture = MakePicture(600, 500);
  const FileBytes file = Jxl(picture);
  CheckRefusals(file, "JPEG XL");
  ConvertOptions accept = AsTheyAre();
  accept.form.truncated = sluice::Truncated::kAccept;
  const Converted part = ConvertOne(Truncated(file, file.size() * 3 / 4), accept);
  REQUIRE(part.summary.truncated.size() == 1);
  REQUIRE(part.picture.height == 500);
  CHECK(std::equal(picture.at(0, 0), picture.at(0, 0) + 256 * 3, part.picture.at(0, 0)));
}
#endif

#ifdef SLUICE_HAS_JP2
TEST_CASE("JPEG 2000s keep their pixels, also bare, grey, transparent and deep ones") {
  const Picture picture = MakePicture(31, 17);
  CHECK(Difference(ConvertOne(Jp2(picture)).picture, picture) == 0);
  CHECK(Difference(ConvertOne(Jp2With(picture, 8, true, 1)).picture, picture) == 0);
  CHECK(Difference(ConvertOne(Jp2With(picture, 16, false, 1)).picture, picture) == 0);
  const Picture grey = MakePicture(9, 5, 1);
  CHECK(ConvertOne(Jp2(grey), AsTheyAre(1)).picture.pixels == grey.pixels);
  CheckTransparency(Jp2);
}

TEST_CASE("a JPEG 2000's channels that are neither colours nor opacity are dropped and counted") {
  const Picture four = MakePicture(12, 8, 4);
  Picture colours{12, 8, 3, {}};
  for (std::size_t i = 0; i < four.pixels.size(); ++i)
    if (i % 4 < 3) colours.pixels.push_back(four.pixels[i]);
  const auto bare = ConvertOne(Jp2With(four, 8, true, 1));  // a codestream does not name channels
  CHECK(Difference(bare.picture, colours) == 0);
  CHECK(bare.summary.channels_dropped == 1);
  CHECK(ConvertOne(Jp2With(four, 8, false, 1)).summary.channels_dropped == 0);  // opacity
  CHECK(ConvertOne(Jp2With(MakePicture(9, 5, 2), 8, true, 1)).summary.channels_dropped == 1);
  CHECK(ConvertOne(Jp2With(MakePicture(9, 5, 1), 8, true, 1)).summary.channels_dropped == 0);
}

TEST_CASE("deep JPEG 2000s that use a small part of their range are dim") {
  CheckDim(
      [](const Picture& picture, bool deep) { return Jp2With(picture, deep ? 16 : 8, false, 1); });
}

TEST_CASE("a JPEG 2000 of luma and fewer chroma values gives RGB") {
  Picture luma{4, 2, 3, {}};
  for (int i = 0; i < 8; ++i) {
    for (const int value : {100, 90, 180})  // Y, Cb, Cr
      luma.pixels.push_back(static_cast<std::uint8_t>(value));
  }
  // ITU-R BT.601, as JFIF: 100 + 1.402 x 52, and so on.
  const Picture rgb = ConvertOne(Jp2With(luma, 8, false, 2)).picture;
  REQUIRE(rgb.pixels.size() == 24);
  CHECK(std::abs(rgb.pixels[9] - 172.9) <= 1);
  CHECK(std::abs(rgb.pixels[10] - 75.9) <= 1);
  CHECK(std::abs(rgb.pixels[11] - 32.7) <= 1);
}

// ISO/IEC 15444-1, I.5.3: a file whose codestream holds indices into a palette.
TEST_CASE("a JPEG 2000 with a palette has the palette's colours") {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
      text += static_cast<char>(value >> shift);
    return text;
  };
  const auto box = [&](const std::string& type, const std::string& content) {
    return number(content.size() + 8, 4) + type + content;
  };
  constexpr int kColours = 5;
  constexpr std::uint8_t kPalette[kColours][3] = {
      {255, 0, 0}, {0, 120, 255}, {4, 124, 221}, {0, 0, 0}, {10, 250, 10}};
  Picture places{20, 15, 1, {}};
  Picture expected{20, 15, 3, {}};
  for (std::uint32_t i = 0; i < 300; ++i) {
    const std::uint32_t place = (i * i + i / 20) % kColours;
    places.pixels.push_back(static_cast<std::uint8_t>(place));
    expected.pixels.insert(expected.pixels.end(), kPalette[place], kPalette[place] + 3);
  }
  std::string palette = number(kColours, 2) + number(3, 1) + std::string(3, 7);  // of 8 bits
  for (const auto& colour : kPalette)
    palette.append(reinterpret_cast<const char*>(colour), 3);
  std::string channels;
  for (int c = 0; c < 3; ++c)
    channels += number(0, 2) + number(1, 1) + number(static_cast<std::uint64_t>(c), 1);
  const FileBytes codestream = Jp2With(places, 8, true, 1);
  const std::string file = box("jP  ", "\r\n\x87\n") + box("ftyp", "jp2 " + number(0, 4) + "jp2 ") +
                           box("jp2h", box("ihdr", number(15, 4) + number(20, 4) + number(1, 2) +
                                                       "\7\7" + number(0, 2)) +
                                           box("colr", "\1" + number(0, 2) + number(16, 4)) +
                                           box("pclr", palette) + box("cmap", channels)) +
                           box("jp2c", std::string(AsText(codestream)));
  const Bytes bytes = AsBytes(file);
  CHECK(Difference(ConvertOne({bytes.begin(), bytes.end()}).picture, expected) == 0);
}

TEST_CASE("a JPEG 2000 that openjpeg warns about but decodes is whole") {
  const Picture picture = MakePicture(31, 17);
  FileBytes file = Jp2With(picture, 8, true, 1);
  // Its coding style claims that packets begin with a marker (SOP), but they do not.
  const std::size_t style = AsText(file).find(std::string_view("\xFF\x52", 2)) + 4;
  REQUIRE(file[style] == std::byte{0});
  file[style] = std::byte{2};
  CHECK(Difference(ConvertOne(file).picture, picture) == 0);
}

TEST_CASE("a JPEG 2000 that ends early, is damaged or is huge is left out with a reason") {
  const Picture picture = MakePicture(120, 100);
  const FileBytes file = Jp2(picture);
  CheckRefusals(file, "JPEG 2000");
  ConvertOptions accept = AsTheyAre();
  accept.form.truncated = sluice::Truncated::kAccept;
  const Converted part = ConvertOne(Truncated(file, file.size() * 3 / 4), accept);
  REQUIRE(part.summary.truncated.size() == 1);
  CHECK(part.picture.height == 100);
}

TEST_CASE("a JPEG 2000 that lacks a tile is broken, even if the tiles after it are there") {
  const Picture picture = MakePicture(60, 40);
  const FileBytes whole = Jp2With(picture, 8, true, 1, 32);
  CHECK(Difference(ConvertOne(whole).picture, picture) == 0);
  // ISO/IEC 15444-1, A.4.2: a tile-part begins with FF90 000A, and has its length at byte 6.
  const std::array<std::byte, 4> start{std::byte{0xFF}, std::byte{0x90}, std::byte{0},
                                       std::byte{10}};
  const auto first = std::search(whole.begin(), whole.end(), start.begin(), start.end());
  REQUIRE(first != whole.end());
  std::ptrdiff_t length = 0;
  for (int i = 6; i < 10; ++i)
    length = length << 8 | std::to_integer<std::ptrdiff_t>(first[i]);
  FileBytes without(whole.begin(), first);
  without.insert(without.end(), first + length, whole.end());
  CHECK_THAT(ConvertOne(without).reason,
             ContainsSubstring("broken JPEG 2000") && ContainsSubstring("1 of its 4 tiles"));
}

TEST_CASE("a JPEG 2000 whose headers ask for excessive memory is refused with what they ask for") {
  const FileBytes whole = Jp2With(MakePicture(16, 16), 8, true, 1);
  // The reason after changes of the file. Each is an offset, a number of bytes, and their value.
  const auto with = [&](std::initializer_list<std::array<std::size_t, 3>> changes) {
    FileBytes file = whole;
    for (const auto& [at, size, value] : changes) {
      for (std::size_t i = 0; i < size; ++i)
        file[at + i] = static_cast<std::byte>(value >> 8 * (size - 1 - i));
    }
    return ConvertOne(file).reason;
  };
  // ISO/IEC 15444-1, A.5.1 and A.6.1: SIZ follows SOC, and COD follows SIZ.
  const std::size_t cod = 4 + 38 + 3 * 3;
  REQUIRE(whole[cod + 1] == std::byte{0x52});
  CHECK_THAT(with({{40, 2, 16'384}}), ContainsSubstring("16384 components"));
  CHECK_THAT(with({{8, 4, 255}, {12, 4, 255}, {24, 4, 1}, {28, 4, 1}}),
             ContainsSubstring("65025 tiles"));
  CHECK_THAT(with({{cod + 6, 2, 65'535}}), ContainsSubstring("65535 layers"));
  // 10,000 pixels per side, in one tile, with code blocks of 4x4.
  CHECK_THAT(
      with({{8, 4, 10'000}, {12, 4, 10'000}, {24, 4, 10'000}, {28, 4, 10'000}, {cod + 10, 2, 0}}),
      ContainsSubstring("code blocks"));
}
#endif

}  // namespace sluice::test
