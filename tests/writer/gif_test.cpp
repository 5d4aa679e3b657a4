// GIF files made byte by byte from the specification. Their pixels are coded one by one.
#ifdef SLUICE_HAS_GIF
#include "tests/catch.h"
#include "tests/writer/converted.h"

namespace sluice::test {

namespace {

using Values = std::vector<std::uint8_t>;

// Codes indices below 128 in 8 bits, and clears the dictionary so often that codes never grow
// longer.
FileBytes LzwOf(const Values& indices) {
  constexpr unsigned kClear = 128;
  constexpr unsigned kEnd = 129;
  Values codes;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (i % 100 == 0) codes.push_back(kClear);
    codes.push_back(indices[i]);
  }
  codes.push_back(kEnd);
  ByteWriter out;
  out.U8(7);
  for (std::size_t at = 0; at < codes.size(); at += 255) {
    const std::size_t count = std::min<std::size_t>(255, codes.size() - at);
    out.U8(static_cast<unsigned>(count));
    out.Add(std::as_bytes(std::span(codes).subspan(at, count)));
  }
  return out.U8(0).bytes();
}

struct Frame {
  unsigned left = 0, top = 0, width = 0, height = 0;
  bool interlaced = false;
  int transparent = -1;
  Values palette = {};  // its own palette: two colours
  Values indices;       // in coded order
};

// `palette`: four colours for the whole file.
FileBytes WriteGif(unsigned width, unsigned height, const Values& palette,
                   const std::vector<Frame>& frames) {
  ByteWriter out;
  out.Text("GIF89a").U16(width).U16(height);
  out.U8(palette.empty() ? 0 : 0x81).U8(0).U8(0).Add(std::as_bytes(std::span(palette)));
  for (const Frame& frame : frames) {
    if (frame.transparent >= 0) {
      out.Values({0x21, 0xF9, 4, 1, 0, 0, frame.transparent, 0});
    }
    out.Values({0x21, 0xFE, 2}).Text("hi").U8(0);  // a comment
    out.U8(0x2C).U16(frame.left).U16(frame.top).U16(frame.width).U16(frame.height);
    out.U8((frame.palette.empty() ? 0U : 0x80U) | (frame.interlaced ? 0x40U : 0U));
    out.Add(std::as_bytes(std::span(frame.palette))).Add(LzwOf(frame.indices));
  }
  return out.U8(0x3B).bytes();
}

const Values kPalette = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7};

}  // namespace

TEST_CASE("a GIF gives the colours of its palette, and only its first frame") {
  const FileBytes file = WriteGif(2, 2, kPalette,
                                  {{.width = 2, .height = 2, .indices = {0, 1, 2, 3}},
                                   {.width = 2, .height = 2, .indices = {3, 3, 3, 3}}});
  CHECK(ConvertOne(file).picture.pixels == kPalette);
  const FileBytes own =
      WriteGif(2, 1, kPalette,
               {{.width = 2, .height = 1, .palette = {1, 2, 3, 4, 5, 6}, .indices = {1, 0}}});
  CHECK(ConvertOne(own).picture.pixels == Values{4, 5, 6, 1, 2, 3});
  CHECK(ConvertOne(own, AsTheyAre(1)).picture.pixels == Values{5, 2});
}

TEST_CASE("a larger GIF of several blocks keeps every pixel") {
  Frame frame{.width = 61, .height = 43, .indices = {}};
  Values expected;
  for (unsigned i = 0; i < 61 * 43; ++i) {
    const auto index = static_cast<std::uint8_t>((i * 7 + i / 61) % 4);
    frame.indices.push_back(index);
    expected.insert(expected.end(), kPalette.begin() + index * 3, kPalette.begin() + index * 3 + 3);
  }
  CHECK(ConvertOne(WriteGif(61, 43, kPalette, {frame})).picture.pixels == expected);
}

TEST_CASE("a GIF's interlaced rows are put in their places") {
  // Ten rows of one pixel come in the order 0 8, 4, 2 6, 1 3 5 7 9; row y has index y % 4.
  const FileBytes file = WriteGif(
      1, 10, kPalette,
      {{.width = 1, .height = 10, .interlaced = true, .indices = {0, 0, 0, 2, 2, 1, 3, 1, 3, 1}}});
  const Picture picture = ConvertOne(file).picture;
  REQUIRE(picture.height == 10);
  for (std::uint32_t y = 0; y < 10; ++y) {
    INFO("row " << y);
    CHECK(Values(picture.at(0, y), picture.at(0, y) + 3) ==
          Values(kPalette.begin() + y % 4 * 3, kPalette.begin() + y % 4 * 3 + 3));
  }
}

TEST_CASE("transparent pixels of a GIF, and those outside its first frame, show the background") {
  const FileBytes file = WriteGif(
      3, 2, kPalette,
      {{.left = 1, .top = 1, .width = 2, .height = 1, .transparent = 2, .indices = {1, 2}}});
  ConvertOptions options = AsTheyAre();
  CHECK(ConvertOne(file, options).picture.pixels ==
        Values{255, 255, 255, 255, 255, 255, 255, 255, 255,  //
               255, 255, 255, 0, 255, 0, 255, 255, 255});
  options.form.background = {10, 20, 30};
  CHECK(ConvertOne(file, options).picture.pixels == Values{10, 20, 30, 10, 20, 30, 10, 20, 30,  //
                                                           10, 20, 30, 0, 255, 0, 10, 20, 30});
}

TEST_CASE("a GIF's canvas around a small opaque frame is transparent, as in browsers") {
  // The file's header names index 1 as the background colour. Browsers ignore that, too.
  FileBytes file = WriteGif(2, 2, kPalette, {{.left = 1, .width = 1, .height = 1, .indices = {3}}});
  file[11] = std::byte{1};
  ConvertOptions options = AsTheyAre();
  options.form.background = {10, 20, 30};
  CHECK(ConvertOne(file, options).picture.pixels ==
        Values{10, 20, 30, 9, 8, 7, 10, 20, 30, 10, 20, 30});
}

TEST_CASE(
    "a GIF that ends early, or in zeros, is refused, or its decoded part is used on request") {
  Values indices;
  for (unsigned i = 0; i < 2500; ++i)
    indices.push_back(static_cast<std::uint8_t>(i % 3));
  const FileBytes file =
      WriteGif(50, 50, kPalette, {{.width = 50, .height = 50, .indices = indices}});
  ConvertOptions accept = AsTheyAre();
  accept.form.truncated = sluice::Truncated::kAccept;
  const Picture whole = ConvertOne(file).picture;
  for (const std::size_t zeros : {0, 4000}) {
    FileBytes half = Truncated(file, file.size() / 2);
    half.resize(half.size() + zeros);
    CHECK(ConvertOne(half).reason.find("broken GIF: it is cut short") == 0);
    const Converted converted = ConvertOne(half, accept);
    REQUIRE(converted.summary.truncated.size() == 1);
    CHECK(std::equal(whole.pixels.begin(), whole.pixels.begin() + 20 * 50 * 3,
                     converted.picture.pixels.begin()));
    CHECK(converted.picture.pixels.back() == 255);
  }
}

TEST_CASE("a GIF's first frame that extends beyond the canvas enlarges it") {
  const FileBytes file = WriteGif(1, 1, kPalette, {{.width = 2, .height = 1, .indices = {0, 3}}});
  CHECK(ConvertOne(file).picture.pixels == Values{255, 0, 0, 9, 8, 7});
}

TEST_CASE("GIFs that end early, lack colours or are huge are left out with a reason") {
  const FileBytes file =
      WriteGif(50, 50, kPalette, {{.width = 50, .height = 50, .indices = Values(2500, 1)}});
  CHECK(ConvertOne(file).reason == "");
  for (const std::size_t count : {std::size_t{6}, std::size_t{20}, file.size() / 2}) {
    CHECK(ConvertOne(Truncated(file, count)).reason.find("broken GIF") == 0);
  }
  CHECK(ConvertOne(WriteGif(5, 5, kPalette, {})).reason.find("no picture") != std::string::npos);
  const FileBytes colourless = WriteGif(1, 1, {}, {{.width = 1, .height = 1, .indices = {0}}});
  CHECK(ConvertOne(colourless).reason.find("no colours") != std::string::npos);
  const FileBytes huge =
      WriteGif(65'000, 65'000, kPalette, {{.width = 1, .height = 1, .indices = {0}}});
  CHECK(ConvertOne(huge).reason.find("65000x65000 pixels") != std::string::npos);
}

}  // namespace sluice::test
#endif
