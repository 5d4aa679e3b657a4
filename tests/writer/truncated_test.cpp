// Files whose data ends before their picture does, and files that only look truncated. A conversion
// must accept or refuse a file alike for every stored form.
#include <algorithm>
#include <map>

#include "format/random.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

using HowTruncated = sluice::Truncated;

// Every way of storing an image; all without resizing, except the last.
std::vector<ConvertOptions> Forms() {
  std::vector<ConvertOptions> forms(6);
  for (ConvertOptions& form : forms)
    form.geometry.max_side.reset();
  forms[1].form.image = ImageCodec::kPacked;
  forms[2].form.image = ImageCodec::kRaw;
  forms[3].form.keep = true;
  forms[4].form.keep = true;
  forms[4].form.image = ImageCodec::kPacked;
  forms[5].geometry.max_side = 50;
  return forms;
}

// A picture with so much grain that a coded block takes more bytes than a decoder would read if the
// block were replaced by zeros.
Picture Grain(std::uint32_t width, std::uint32_t height) {
  Picture picture{width, height, 3, {}};
  RandomStream random(1, static_cast<Purpose>(999), 0);
  for (std::uint32_t i = 0; i < width * height * 3; ++i)
    picture.pixels.push_back(static_cast<std::uint8_t>(random.Below(256)));
  return picture;
}

FileBytes With(FileBytes file, const FileBytes& more) {
  file.insert(file.end(), more.begin(), more.end());
  return file;
}

FileBytes Zeros(std::size_t count) {
  return FileBytes(count);
}

FileBytes WithoutEnd(const FileBytes& jpeg) {
  return Truncated(jpeg, jpeg.size() - 2);
}

// Offset of the `number`th marker of this kind, from 0; the file's size if there is no such marker.
std::size_t FindMarker(const FileBytes& file, unsigned marker, int number) {
  for (std::size_t i = 0; i + 1 < file.size(); ++i) {
    if (file[i] == std::byte{0xFF} && file[i + 1] == static_cast<std::byte>(marker) &&
        number-- == 0) {
      return i;
    }
  }
  return file.size();
}

// The reason why the file is left out, which must be the same for all forms; "" if it is accepted.
std::string Reason(const FileBytes& file) {
  std::vector<std::string> reasons;
  for (const ConvertOptions& form : Forms())
    reasons.push_back(ConvertOne(file, form).reason);
  for (std::size_t i = 1; i < reasons.size(); ++i) {
    INFO("form " << i);
    CHECK(reasons[i] == reasons[0]);
  }
  return reasons[0];
}

bool Has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a JPEG that was cut off, or whose end became zeros, is left out in every form") {
  const Picture picture = Grain(160, 120);
  const std::map<std::string, FileBytes> files = {
      {"baseline", MakeJpeg(picture, {.quality = 100})},
      {"progressive", MakeJpeg(picture, {.quality = 100, .progressive = true})},
      {"restarts", MakeJpeg(picture, {.quality = 100, .restart_rows = 1})},
      {"optimised", MakeJpeg(picture, {.quality = 100, .optimise = true})},
      {"grey", MakeJpeg(Picture{320, 180, 1, picture.pixels}, {.quality = 100})}};
  for (const auto& [name, file] : files) {
    INFO(name);
    CHECK(Reason(file) == "");
    for (const std::size_t size : {file.size() / 2, file.size() * 9 / 10, file.size() - 30}) {
      INFO(size << " of " << file.size());
      CHECK(Has(Reason(Truncated(file, size)), "cut short"));
      CHECK(Has(Reason(With(Truncated(file, size), Zeros(file.size() - size))), "cut short"));
      CHECK(Has(Reason(With(Truncated(file, size), Zeros(100'000))), "cut short"));
    }
  }
  // Exactly between two restart markers.
  const FileBytes& restarts = files.at("restarts");
  const std::size_t marker = FindMarker(restarts, 0xD3, 0);
  CHECK(Has(Reason(Truncated(restarts, marker)), "cut short"));
  CHECK(Has(Reason(With(Truncated(restarts, marker), Zeros(5000))), "cut short"));
}

TEST_CASE("a JPEG whose picture is whole is accepted in every form, whatever follows it") {
  const FileBytes baseline = MakeJpeg(MakePicture(90, 70));
  const FileBytes progressive = MakeJpeg(MakePicture(90, 70), {.progressive = true});
  const auto bytes = [](std::initializer_list<int> values) {
    return ByteWriter().Values(values).bytes();
  };
  const std::map<std::string, FileBytes> ends = {
      {"nothing", {}},
      {"zeros", Zeros(3000)},
      {"half a marker", bytes({0xFF})},
      {"a segment that reaches beyond the file", bytes({0xFF, 0xE1, 0xFF, 0xFF, 1, 2, 3})},
      {"that segment and an end marker", bytes({0xFF, 0xE1, 0xFF, 0xFF, 1, 2, 0xFF, 0xD9})},
      {"a marker that does not exist", bytes({0xFF, 0x37, 0, 4, 1, 2})},
      {"another picture", baseline}};
  for (const auto& [name, end] : ends) {
    INFO(name);
    for (const FileBytes& whole : {baseline, progressive}) {
      for (const FileBytes& file : {With(WithoutEnd(whole), end), With(whole, end)}) {
        CHECK(Reason(file) == "");
        CHECK(Difference(ConvertOne(file).picture, DecodeJpeg(whole)) == 0);
      }
    }
  }
  // An invalid scan after the single scan that has the whole picture.
  const FileBytes scan = bytes({0xFF, 0xDA, 0, 4, 1, 2});
  CHECK(Reason(With(WithoutEnd(baseline), scan)) == "");
}

TEST_CASE("a JPEG whose last coded byte is zero needs no end marker") {
  // The last blocks of a picture without colour are eight zero bits: twice the codes 00 of a
  // difference of zero and of a block's end (T.81, tables K.4 and K.6). If they begin at a byte,
  // they are a whole byte.
  FileBytes whole;
  for (std::uint64_t seed = 0; seed < 200 && whole.empty(); ++seed) {
    Picture picture{40, 24, 3, {}};
    RandomStream random(seed, static_cast<Purpose>(999), 0);
    for (std::uint32_t i = 0; i < 40 * 24; ++i)
      picture.pixels.insert(picture.pixels.end(), 3, static_cast<std::uint8_t>(random.Below(256)));
    const FileBytes file = MakeJpeg(picture);
    if (file[file.size() - 3] == std::byte{0}) whole = file;
  }
  REQUIRE_FALSE(whole.empty());
  CHECK(Reason(WithoutEnd(whole)) == "");
  CHECK(Difference(ConvertOne(WithoutEnd(whole)).picture, DecodeJpeg(whole)) == 0);
}

TEST_CASE("a JPEG that is damaged near its end is judged alike in every form") {
  // Sixteen ones are not a code. libjpeg looks for such codes only near the end of its input, so
  // all forms must give it the same input, whatever follows the picture.
  const FileBytes whole = MakeJpeg(Grain(160, 120));
  const FileBytes no_code = ByteWriter().Values({0xFF, 0, 0xFF, 0, 0xFF, 0}).bytes();
  for (const std::size_t before_end : {200U, 400U, 800U}) {
    INFO(before_end << " bytes before the end");
    FileBytes damaged = whole;
    std::copy(no_code.begin(), no_code.end(),
              damaged.end() - static_cast<std::ptrdiff_t>(before_end));
    CHECK(Reason(damaged) != "");
    CHECK(Reason(With(damaged, whole)) != "");
  }
}

TEST_CASE("a JPEG without its last scans is accepted if it has an end marker, else refused") {
  const FileBytes file = MakeJpeg(MakePicture(90, 70), {.progressive = true});
  // Cuts the file at its fourth table of codes, with which the scans after those of the lowest
  // frequencies begin.
  const FileBytes begun = Truncated(file, FindMarker(file, 0xC4, 3));
  CHECK(Has(Reason(begun), "last scans are missing"));
  CHECK(Has(Reason(With(begun, Zeros(9000))), "last scans are missing"));
  CHECK(Reason(With(begun, ByteWriter().Values({0xFF, 0xD9}).bytes())) == "");
}

TEST_CASE("the pixels of a JPEG that ends early are used in every form, and the rest is grey") {
  const Picture picture = Grain(160, 120);
  const FileBytes whole = MakeJpeg(picture, {.quality = 100, .subsample = false});
  const FileBytes half = Truncated(whole, whole.size() / 2);
  for (ConvertOptions form : Forms()) {
    for (const FileBytes& file : {half, With(half, Zeros(half.size()))}) {
      form.form.truncated = HowTruncated::kAccept;
      const Converted converted = ConvertOne(file, form);
      CHECK(converted.reason == "");
      REQUIRE(converted.summary.truncated.size() == 1);
      CHECK(converted.summary.truncated[0].path == "one");
      CHECK(Has(converted.summary.truncated[0].reason, "remature end"));
      CHECK(converted.summary.kept == (form.form.keep ? 1 : 0));  // only the other file
      CHECK(converted.summary.warnings.empty());
    }
  }
  ConvertOptions raw = AsTheyAre();
  raw.form.truncated = HowTruncated::kWarn;
  const Converted converted = ConvertOne(half, raw);
  const Picture expected = DecodeJpeg(whole);
  REQUIRE(converted.picture.height == 120);
  CHECK(std::equal(expected.pixels.begin(), expected.pixels.begin() + 48 * 160 * 3,
                   converted.picture.pixels.begin()));
  const std::uint8_t* const last = converted.picture.at(159, 119);
  CHECK(std::vector<std::uint8_t>(last, last + 3) == std::vector<std::uint8_t>{128, 128, 128});
  REQUIRE(converted.summary.warnings.size() == 1);
  CHECK(Has(converted.summary.warnings[0], "one"));
  // A file that ends within its headers is left out all the same.
  FileBytes damaged = WithOrientation(whole, 1);
  damaged.resize(60);
  CHECK(ConvertOne(damaged, raw).reason != "");
}

TEST_CASE(
    "images used although they end early are listed, also by a run that has nothing left to do") {
  const TemporaryFolder folder;
  const FileBytes whole = MakeJpeg(MakePicture(80, 80));
  WriteSource(folder / "source" / "half.jpg", Truncated(whole, whole.size() / 2));
  WriteSource(folder / "source" / "whole.jpg", whole);
  const auto skipped = [&](const char* name, HowTruncated taken) {
    ConvertOptions options;
    options.form.truncated = taken;
    for (int run = 0; run < 2; ++run) {
      const ConvertSummary summary = Convert(folder / "source", folder / name, options);
      CHECK(summary.truncated.size() == (taken == HowTruncated::kRefuse ? 0 : 1));
      CHECK(summary.samples == (taken == HowTruncated::kRefuse ? 1 : 2));
    }
    return ContentOf(folder / name / "skipped.tsv");
  };
  CHECK(Has(skipped("refuse", HowTruncated::kRefuse), "half.jpg\tbroken JPEG: it is cut short: "));
  CHECK(Has(skipped("warn", HowTruncated::kWarn), "\ttruncated\n"));
  CHECK_FALSE(Has(skipped("accept", HowTruncated::kAccept), "half.jpg"));
  // The option belongs to the plan.
  ConvertOptions other;
  CHECK_THROWS_AS(Convert(folder / "source", folder / "warn", other), Error);
}

TEST_CASE("PNGs that end early, or in zeros, are refused or used as far as they go") {
  const Picture picture = Grain(200, 150);
  const FileBytes file = MakePng(picture);
  ConvertOptions accept = AsTheyAre();
  accept.form.truncated = HowTruncated::kAccept;
  for (const std::size_t zeros : {0, 5000}) {
    const FileBytes half = With(Truncated(file, file.size() * 4 / 5), Zeros(zeros));
    CHECK(Has(ConvertOne(half).reason, "broken PNG: it is cut short"));
    const Converted converted = ConvertOne(half, accept);
    REQUIRE(converted.summary.truncated.size() == 1);
    CHECK(std::equal(picture.pixels.begin(), picture.pixels.begin() + 600,
                     converted.picture.pixels.begin()));
    CHECK(converted.picture.pixels.back() == 0);
  }
  CHECK(ConvertOne(With(file, Zeros(100))).reason == "");
  // All pixels are there, but the end is missing.
  CHECK(Difference(ConvertOne(Truncated(file, file.size() - 12), accept).picture, picture) == 0);
  // Missing parts of a transparent image show the background.
  PngOptions clear;
  clear.color_type = 6;
  std::vector<std::uint8_t> rows;
  for (std::size_t i = 0; i < picture.pixels.size(); i += 3) {
    rows.insert(rows.end(), picture.pixels.begin() + static_cast<std::ptrdiff_t>(i),
                picture.pixels.begin() + static_cast<std::ptrdiff_t>(i) + 3);
    rows.push_back(255);
  }
  for (const bool interlaced : {false, true}) {
    clear.interlaced = interlaced;
    const FileBytes png = MakePng(200, 150, rows, clear);
    const Converted converted = ConvertOne(Truncated(png, png.size() / 2), accept);
    CHECK(converted.summary.truncated.size() == 1);
    CHECK(converted.picture.pixels.back() == 255);
  }
}

TEST_CASE("BMPs that end early are refused or used as far as they go") {
  ByteWriter out;
  out.Text("BM").U32(0).U32(0).U32(54).U32(40).U32(2).U32(static_cast<std::uint32_t>(-2));
  out.U16(1).U16(24).U32(0).U32(0).U32(0).U32(0).U32(0).U32(0);
  out.Values({1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9});
  CHECK(Has(ConvertOne(out.bytes()).reason, "broken BMP: it is cut short"));
  ConvertOptions accept = AsTheyAre();
  accept.form.truncated = HowTruncated::kAccept;
  const Converted converted = ConvertOne(out.bytes(), accept);
  CHECK(converted.picture.pixels == std::vector<std::uint8_t>{3, 2, 1, 6, 5, 4, 9, 8, 7, 0, 0, 0});
  CHECK(converted.summary.truncated.size() == 1);
}

}  // namespace sluice::test
