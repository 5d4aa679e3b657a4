// Embedded colour profiles. The expected colours follow from how the profiles are made: swapped
// primaries, and curves and inks with a formula.
#include <cmath>

#include <zlib.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/stored.h"
#ifdef SLUICE_HAS_LCMS
#include <lcms2.h>
#endif

namespace sluice::test {

namespace {

// The JPEG with the profile in APP2 segments of at most `piece` bytes each, as ICC.1 says.
FileBytes WithProfile(const FileBytes& jpeg, const FileBytes& profile, std::size_t piece = 60'000) {
  FileBytes file(jpeg.begin(), jpeg.begin() + 2);
  const std::size_t count = (profile.size() + piece - 1) / piece;
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes part =
        Bytes(profile).subspan(i * piece, std::min(piece, profile.size() - i * piece));
    const auto length = static_cast<unsigned>(2 + 14 + part.size());
    ByteWriter segment;
    segment.U8(0xFF).U8(0xE2).U8(length >> 8).U8(length & 255);
    segment.Text("ICC_PROFILE").U8(0).U8(static_cast<unsigned>(i + 1));
    segment.U8(static_cast<unsigned>(count)).Add(part);
    file.insert(file.end(), segment.bytes().begin(), segment.bytes().end());
  }
  file.insert(file.end(), jpeg.begin() + 2, jpeg.end());
  return file;
}

// The PNG with a chunk after its header. `named`: the chunk's name and content.
FileBytes WithChunk(const FileBytes& png, const FileBytes& named) {
  const auto big_endian = [](ByteWriter& out, std::size_t value) {
    for (int shift = 24; shift >= 0; shift -= 8)
      out.U8(static_cast<unsigned>(value >> shift & 255));
  };
  ByteWriter chunk;
  big_endian(chunk, named.size() - 4);
  chunk.Add(named);
  big_endian(chunk, crc32(0, reinterpret_cast<const Bytef*>(named.data()),
                          static_cast<uInt>(named.size())));
  FileBytes file = png;
  file.insert(file.begin() + 33, chunk.bytes().begin(), chunk.bytes().end());
  return file;
}

FileBytes WithProfileChunk(const FileBytes& png, const FileBytes& content) {
  uLongf size = compressBound(content.size());
  FileBytes packed(size);
  REQUIRE(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                   reinterpret_cast<const Bytef*>(content.data()), content.size()) == Z_OK);
  packed.resize(size);
  ByteWriter named;
  named.Text("iCCPname").U8(0).U8(0).Add(packed);
  return WithChunk(png, named.bytes());
}

ConvertOptions Converting(unsigned channels = 3) {
  ConvertOptions options = AsTheyAre(channels);
  options.form.icc = IccProfiles::kConvert;
  return options;
}

}  // namespace

TEST_CASE("a profile is dropped by default, and the summary counts it") {
  const FileBytes plain = MakeJpeg(MakePicture(20, 10));
  const Converted converted = ConvertOne(WithProfile(plain, FileBytes(300, std::byte{7})));
  CHECK(Difference(converted.picture, DecodeJpeg(plain)) == 0);
  CHECK(converted.summary.profiles_dropped == 1);
  CHECK(converted.summary.profiles_converted == 0);
  CHECK(ConvertOne(plain).summary.profiles_dropped == 0);
}

TEST_CASE("a PNG's profile is not even read if it is dropped") {
  const Picture picture = MakePicture(20, 10);
  PngOptions options;
  for (const bool interlaced : {false, true}) {
    options.interlaced = interlaced;
    const FileBytes plain = MakePng(20, 10, picture.pixels, options);
    // The last profile inflates to more bytes than a profile may have.
    for (const std::size_t bytes : {std::size_t{300}, std::size_t{40'000}, std::size_t{20} << 20}) {
      const Converted converted = ConvertOne(WithProfileChunk(plain, FileBytes(bytes)));
      CHECK(converted.reason.empty());
      CHECK(Difference(converted.picture, picture) == 0);
      CHECK(converted.summary.profiles_dropped == 1);
    }
  }
  const FileBytes large = WithProfileChunk(MakePng(picture), FileBytes(std::size_t{20} << 20));
  CHECK_THAT(ConvertOne(Truncated(large, large.size() - 20)).reason,
             Catch::Matchers::ContainsSubstring("broken PNG"));
  CHECK_THAT(ConvertOne(Truncated(large, 60)).reason,
             Catch::Matchers::ContainsSubstring("broken PNG"));
#ifdef SLUICE_HAS_LCMS
  CHECK_THAT(ConvertOne(large, Converting()).reason,
             Catch::Matchers::ContainsSubstring("broken PNG"));
  const Converted broken =
      ConvertOne(WithProfileChunk(MakePng(picture), FileBytes(300)), Converting());
  CHECK(Difference(broken.picture, picture) == 0);
  CHECK(broken.summary.profiles_dropped == 1);
#endif
}

TEST_CASE("a PNG whose chunks describe colours other than sRGB's counts as one with a profile") {
  const auto numbers = [](const char* name, const std::vector<std::uint32_t>& values) {
    ByteWriter chunk;
    chunk.Text(name);
    for (const std::uint32_t value : values) {
      for (int shift = 24; shift >= 0; shift -= 8)
        chunk.U8(value >> shift & 255);
    }
    return chunk.bytes();
  };
  const Picture picture = MakePicture(20, 10);
  const FileBytes plain = MakePng(picture);
  const auto dropped = [&](const FileBytes& png) {
    const Converted converted = ConvertOne(png);
    CHECK(converted.reason.empty());
    CHECK(Difference(converted.picture, picture) == 0);
    return converted.summary.profiles_dropped;
  };
  const std::vector<std::uint32_t> srgb = {31'270, 32'900, 64'000, 33'000,
                                           30'000, 60'000, 15'000, 6'000};
  const std::vector<std::uint32_t> wide = {31'270, 32'900, 68'000, 32'000,
                                           26'500, 69'000, 15'000, 6'000};
  const FileBytes linear = WithChunk(plain, numbers("gAMA", {100'000}));
  CHECK(dropped(linear) == 1);
  CHECK(dropped(WithChunk(plain, numbers("cHRM", wide))) == 1);
  CHECK(dropped(WithChunk(plain, numbers("cICP", {0x09'10'00'01}))) == 1);  // BT.2020, PQ
  CHECK(dropped(WithChunk(plain, numbers("gAMA", {45'455}))) == 0);
  CHECK(dropped(WithChunk(plain, numbers("cHRM", srgb))) == 0);
  CHECK(dropped(WithChunk(plain, numbers("cICP", {0x01'0d'00'01}))) == 0);  // sRGB
  FileBytes says_srgb = numbers("sRGB", {});
  says_srgb.push_back(std::byte{0});
  CHECK(dropped(WithChunk(linear, says_srgb)) == 0);
}

#ifndef SLUICE_HAS_LCMS

TEST_CASE("a build without lcms2 refuses to convert profiles and says what it needs") {
  const auto error = ErrorOf([&] { ConvertOne(MakeJpeg(MakePicture(8, 8)), Converting()); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kUnsupported);
  CHECK(error->sentence().find("liblcms2-dev") != std::string::npos);
}

#else

namespace {

FileBytes SavedAndClosed(cmsHPROFILE profile) {
  cmsUInt32Number size = 0;
  cmsSaveProfileToMem(profile, nullptr, &size);
  REQUIRE(size > 0);
  FileBytes bytes(size);
  cmsSaveProfileToMem(profile, bytes.data(), &size);
  cmsCloseProfile(profile);
  return bytes;
}

// sRGB's curve (IEC 61966-2-1): the 8-bit value of a share of light.
int FromLight(double light) {
  const double value =
      light <= 0.0031308 ? light * 12.92 : 1.055 * std::pow(light, 1 / 2.4) - 0.055;
  return static_cast<int>(std::lround(255 * value));
}

// sRGB's white point and primaries.
const cmsCIExyY kWhite = {0.3127, 0.3290, 1};
const cmsCIExyY kRed = {0.64, 0.33, 1};
const cmsCIExyY kGreen = {0.30, 0.60, 1};
const cmsCIExyY kBlue = {0.15, 0.06, 1};

// A profile of RGB with these primaries. A colour's light is a power of its value.
FileBytes PowerProfile(double power, const cmsCIExyYTRIPLE& primaries = {kRed, kGreen, kBlue}) {
  cmsToneCurve* const curve = cmsBuildGamma(nullptr, power);
  cmsToneCurve* curves[3] = {curve, curve, curve};
  const cmsHPROFILE profile = cmsCreateRGBProfile(&kWhite, &primaries, curves);
  cmsFreeToneCurve(curve);
  return SavedAndClosed(profile);
}

FileBytes GreyProfile(double power) {
  cmsToneCurve* const curve = cmsBuildGamma(nullptr, power);
  const cmsHPROFILE profile = cmsCreateGrayProfile(cmsD50_xyY(), curve);
  cmsFreeToneCurve(curve);
  return SavedAndClosed(profile);
}

FileBytes SrgbProfile() {
  return SavedAndClosed(cmsCreate_sRGBProfile());
}

// Black ink darkens Lab's lightness from 100 to 0 in proportion; the other inks do nothing.
FileBytes BlackInkProfile() {
  cmsPipeline* const pipeline = cmsPipelineAlloc(nullptr, 4, 3);
  std::vector<cmsUInt16Number> table;  // cyan slowest, black fastest
  for (int node = 0; node < 16; ++node) {
    const bool black = node % 2 == 1;
    table.push_back(black ? 0 : 0xFFFF);
    table.push_back(0x8080);
    table.push_back(0x8080);
  }
  // Curves that change nothing: a profile's table cannot be stored without them.
  cmsPipelineInsertStage(pipeline, cmsAT_END, cmsStageAllocToneCurves(nullptr, 4, nullptr));
  cmsPipelineInsertStage(pipeline, cmsAT_END,
                         cmsStageAllocCLut16bit(nullptr, 2, 4, 3, table.data()));
  cmsPipelineInsertStage(pipeline, cmsAT_END, cmsStageAllocToneCurves(nullptr, 3, nullptr));
  const cmsHPROFILE profile = cmsCreateProfilePlaceholder(nullptr);
  cmsSetProfileVersion(profile, 4.3);
  cmsSetDeviceClass(profile, cmsSigOutputClass);
  cmsSetColorSpace(profile, cmsSigCmykData);
  cmsSetPCS(profile, cmsSigLabData);
  cmsWriteTag(profile, cmsSigAToB0Tag, pipeline);
  cmsPipelineFree(pipeline);
  return SavedAndClosed(profile);
}

// The grey value for a lightness from 0 to 100 (CIE 1976).
int GreyOfLightness(double lightness) {
  const double t = (lightness + 16) / 116;
  return FromLight(t > 6.0 / 29 ? t * t * t : 3 * std::pow(6.0 / 29, 2) * (t - 4.0 / 29));
}

// A picture of a single colour, which a JPEG keeps nearly exactly.
FileBytes FlatJpeg(std::initializer_list<std::uint8_t> colour, JpegOptions options = {}) {
  Picture picture{16, 16, static_cast<std::uint32_t>(colour.size()), {}};
  for (int i = 0; i < 256; ++i)
    picture.pixels.insert(picture.pixels.end(), colour);
  options.quality = 100;
  return MakeJpeg(picture, options);
}

bool Near(const std::uint8_t* got, std::initializer_list<int> wanted, int most) {
  int c = 0;
  for (const int value : wanted) {
    if (std::abs(got[c++] - value) > most) {
      UNSCOPED_INFO("channel " << c - 1 << " is " << int{got[c - 1]} << ", not " << value);
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("the colours of a PNG with a profile are converted to sRGB") {
  PngOptions options;
  options.profile = PowerProfile(1);
  std::vector<std::uint8_t> rows;
  for (int x = 0; x < 256; ++x)
    rows.insert(rows.end(),
                {static_cast<std::uint8_t>(x), 200, static_cast<std::uint8_t>(255 - x)});
  for (const bool interlaced : {false, true}) {
    options.interlaced = interlaced;
    const Converted converted = ConvertOne(MakePng(256, 1, rows, options), Converting());
    CHECK(converted.summary.profiles_converted == 1);
    CHECK(converted.summary.profiles_dropped == 0);
    for (std::uint32_t x = 0; x < 256; ++x) {
      CHECK(Near(converted.picture.at(x, 0),
                 {FromLight(x / 255.0), FromLight(200 / 255.0), FromLight(1 - x / 255.0)}, 1));
    }
  }
}

TEST_CASE("a profile whose red and green are swapped swaps these colours") {
  const FileBytes profile = PowerProfile(2.2, {kGreen, kRed, kBlue});
  const int expected[] = {FromLight(std::pow(90 / 255.0, 2.2)),
                          FromLight(std::pow(180 / 255.0, 2.2)),
                          FromLight(std::pow(30 / 255.0, 2.2))};
  PngOptions options;
  options.profile = profile;
  CHECK(Near(ConvertOne(MakePng(1, 1, {180, 90, 30}, options), Converting()).picture.at(0, 0),
             {expected[0], expected[1], expected[2]}, 1));
  // In one segment, and in several.
  const FileBytes jpeg = FlatJpeg({180, 90, 30}, {.subsample = false});
  for (const std::size_t piece : {60'000, 100}) {
    const Converted converted = ConvertOne(WithProfile(jpeg, profile, piece), Converting());
    CHECK(converted.summary.profiles_converted == 1);
    CHECK(Near(converted.picture.at(7, 7), {expected[0], expected[1], expected[2]}, 4));
  }
  // The grey of the converted colours, not converted grey.
  const Picture grey = ConvertOne(WithProfile(jpeg, profile), Converting(1)).picture;
  CHECK(Near(grey.at(7, 7),
             {static_cast<int>(
                 std::lround(0.299 * expected[0] + 0.587 * expected[1] + 0.114 * expected[2]))},
             4));
}

TEST_CASE("grey profiles apply to grey pictures, including transparent ones") {
  PngOptions options;
  options.color_type = 0;
  options.profile = GreyProfile(1);
  const int expected = FromLight(100 / 255.0);
  CHECK(Near(ConvertOne(MakePng(1, 1, {100}, options), Converting(1)).picture.at(0, 0), {expected},
             1));
  options.color_type = 4;
  ConvertOptions over = Converting();
  over.form.background = {0, 0, 250};
  const Picture half = ConvertOne(MakePng(1, 1, {100, 128}, options), over).picture;
  CHECK(Near(half.at(0, 0),
             {Over(expected / 255.0, 128 / 255.0, 0), Over(expected / 255.0, 128 / 255.0, 0),
              Over(expected / 255.0, 128 / 255.0, 250)},
             1));
  // A profile of RGB may apply to grey as well: the result has three nearly equal values, of which
  // one is stored. sRGB's own profile has no effect.
  const FileBytes flat = FlatJpeg({100});
  CHECK(Near(ConvertOne(WithProfile(flat, PowerProfile(1)), Converting(1)).picture.at(3, 3),
             {expected}, 2));
  const Converted same = ConvertOne(WithProfile(flat, SrgbProfile()), Converting(1));
  CHECK(same.summary.profiles_dropped == 0);
  CHECK(same.summary.profiles_converted == 0);
  const FileBytes jpeg = WithProfile(flat, GreyProfile(1));
  CHECK(Near(ConvertOne(jpeg, Converting(1)).picture.at(3, 3), {expected}, 2));
}

TEST_CASE("a CMYK JPEG's profile decides how its inks look, inverted or not") {
  const FileBytes profile = BlackInkProfile();
  const auto file = [&](bool adobe, std::uint8_t black) {
    Picture picture{16, 16, 4, {}};
    for (int i = 0; i < 256; ++i) {
      const auto none = static_cast<std::uint8_t>(adobe ? 255 : 0);
      picture.pixels.insert(picture.pixels.end(), {none, none, none, black});
    }
    return WithProfile(EncodeWith(picture,
                                  [adobe](jpeg_compress_struct& jpeg) {
                                    jpeg_set_quality(&jpeg, 100, TRUE);
                                    jpeg_set_colorspace(&jpeg, JCS_CMYK);
                                    jpeg.write_Adobe_marker = adobe ? TRUE : FALSE;
                                  }),
                       profile);
  };
  const int expected = GreyOfLightness(100 * (1 - 102 / 255.0));
  CHECK(Near(ConvertOne(file(false, 102), Converting()).picture.at(4, 4),
             {expected, expected, expected}, 2));
  CHECK(Near(ConvertOne(file(true, 153), Converting()).picture.at(4, 4),
             {expected, expected, expected}, 2));
  CHECK(Near(ConvertOne(file(true, 153), Converting(1)).picture.at(4, 4), {expected}, 2));
}

#ifdef SLUICE_HAS_TIFF
TEST_CASE("a CMYK TIFF's profile decides how its inks look") {
  const FileBytes profile = BlackInkProfile();
  const auto profile_bytes = static_cast<std::uint32_t>(profile.size());
  ByteWriter file;
  file.Text("II").U16(42).U32(8).U16(10);
  const auto entry = [&file](unsigned tag, unsigned type, std::uint32_t count,
                             std::uint32_t value) {
    file.U16(tag).U16(type).U32(count).U32(value);
  };
  const std::uint32_t end = 8 + 2 + 10 * 12 + 4;
  entry(256, 4, 1, 1);  // width, height
  entry(257, 4, 1, 1);
  entry(258, 3, 4, end);  // bits
  entry(259, 3, 1, 1);    // not compressed
  entry(262, 3, 1, 5);    // inks
  entry(273, 4, 1, end + 8);
  entry(277, 3, 1, 4);
  entry(278, 4, 1, 1);
  entry(279, 4, 1, 4);
  entry(34675, 7, profile_bytes, end + 12);
  file.U32(0).U16(8).U16(8).U16(8).U16(8).Values({0, 0, 0, 102}).Add(profile);
  const int expected = GreyOfLightness(100 * (1 - 102 / 255.0));
  const Converted converted = ConvertOne(file.bytes(), Converting());
  REQUIRE(converted.reason.empty());
  CHECK(converted.summary.profiles_converted == 1);
  CHECK(Near(converted.picture.at(0, 0), {expected, expected, expected}, 2));
  CHECK(ConvertOne(file.bytes()).picture.pixels == std::vector<std::uint8_t>{153, 153, 153});
}
#endif

TEST_CASE("sRGB's own profile changes nothing, and coefficients may be kept") {
  const FileBytes plain = MakeJpeg(MakePicture(64, 48));
  const Converted converted = ConvertOne(WithProfile(plain, SrgbProfile()), Converting());
  CHECK(Difference(converted.picture, DecodeJpeg(plain)) == 0);
  CHECK(converted.summary.profiles_converted == 0);
  CHECK(converted.summary.profiles_dropped == 0);
  ConvertOptions keep = Converting();
  keep.form.image = ImageCodec::kJpeg;
  keep.form.keep = true;
  // ConvertOne() also converts a JPEG without a profile, which is kept.
  CHECK(ConvertOne(WithProfile(plain, SrgbProfile()), keep).summary.kept == 2);
  CHECK(ConvertOne(WithProfile(plain, PowerProfile(1)), keep).summary.kept == 1);
}

TEST_CASE("a profile that is broken, or for another colour space, has no effect and is counted") {
  const FileBytes plain = MakeJpeg(MakePicture(20, 10));
  FileBytes cut = PowerProfile(1);
  cut.resize(140);
  for (const FileBytes& profile :
       {cut, FileBytes(300, std::byte{7}), GreyProfile(1), BlackInkProfile()}) {
    const Converted converted = ConvertOne(WithProfile(plain, profile), Converting());
    CHECK(Difference(converted.picture, DecodeJpeg(plain)) == 0);
    CHECK(converted.summary.profiles_dropped == 1);
  }
  // The first segment is missing: it claims to be the second.
  FileBytes pieces = WithProfile(plain, PowerProfile(1), 100);
  pieces[2 + 2 + 2 + 12] = std::byte{2};
  CHECK(ConvertOne(pieces, Converting()).summary.profiles_dropped == 1);
}

TEST_CASE("a picture with a profile is resized like its converted pixels") {
  const Picture picture = MakePicture(300, 200);
  ConvertOptions options = Converting();
  options.geometry.max_side = 100;
  const Picture converted =
      ConvertOne(WithProfile(MakeJpeg(picture, {.subsample = false}), PowerProfile(1)), options)
          .picture;
  Picture light = picture;
  for (std::uint8_t& value : light.pixels)
    value = static_cast<std::uint8_t>(FromLight(value / 255.0));
  const Picture expected = ConvertOne(MakePng(light), options).picture;
  REQUIRE(converted.width == 100);
  CHECK(Difference(converted, expected) < 3);
}

#endif

TEST_CASE("a different background, or use of profiles, changes the plan") {
  const TemporaryFolder folder;
  WriteSource(folder / "source" / "a.png", MakePng(MakePicture(9, 9)));
  Convert(folder / "source", folder / "data", AsTheyAre());
  ConvertOptions options = AsTheyAre();
  options.form.background = {0, 0, 0};
  const auto error = ErrorOf([&] { Convert(folder / "source", folder / "data", options); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kExists);
  CHECK(error->sentence().find("background was not set then and is [0,0,0] now") !=
        std::string::npos);
  Convert(folder / "source", folder / "black", options);
  const auto back = ErrorOf([&] { Convert(folder / "source", folder / "black", AsTheyAre()); });
  REQUIRE(back);
  CHECK(back->sentence().find("background was [0,0,0] then and is not set now") !=
        std::string::npos);
#ifdef SLUICE_HAS_LCMS
  const auto icc = ErrorOf([&] { Convert(folder / "source", folder / "data", Converting()); });
  REQUIRE(icc);
  CHECK(icc->sentence().find("icc was not set") != std::string::npos);
#endif
}

}  // namespace sluice::test
