// PBM, PGM, PPM and PAM (Netpbm) and TGA (Truevision) files, made byte by byte from their
// specifications.
#include "tests/catch.h"
#include "tests/writer/converted.h"

namespace sluice::test {

namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using Values = std::vector<std::uint8_t>;

FileBytes TextFile(std::string_view text) {
  const Bytes bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

Values Greys(std::string_view text) {
  return ConvertOne(TextFile(text), AsTheyAre(1)).picture.pixels;
}

Values Colours(std::string_view text, ConvertOptions options = AsTheyAre()) {
  return ConvertOne(TextFile(text), options).picture.pixels;
}

using namespace std::string_view_literals;

}  // namespace

TEST_CASE("the pixels of PBM, PGM and PPM are read from text and from bytes") {
  CHECK(Greys("P1\n# bits\n3 2\n10 1\n0\n1 0") == Values{0, 255, 0, 255, 0, 255});
  CHECK(Greys("P4 10 2\n\xA0\x40\x00\x80"sv) == Values{0,   255, 0,   255, 255, 255, 255,
                                                       255, 255, 0,   255, 255, 255, 255,
                                                       255, 255, 255, 255, 0,   255});
  CHECK(Greys("P2\n2 2\n# white is 4\n4\n0 1\n3 4\n") == Values{0, 64, 191, 255});
  CHECK(Greys("P5 2 1 255\n\x05\xfe"sv) == Values{5, 254});
  CHECK(Greys("P5 2 1 65535\n\x00\x80\x80\x81"sv) == Values{0, 128});  // 128 / 257, 32897 / 257
  CHECK(Greys("P5 2 1 100\n\x32\xff"sv) == Values{128, 255});          // beyond white is white
  CHECK(Colours("P3 1 2 255 1 2 3 # next\n 250 251 252") == Values{1, 2, 3, 250, 251, 252});
  CHECK(Colours("P6\n#\n1 1\n255\nabc") == Values{'a', 'b', 'c'});
}

TEST_CASE("a PAM's values are grey or RGB, and its opacity is applied over the background") {
  ConvertOptions options = AsTheyAre();
  options.form.background = {200, 100, 0};
  const std::string_view header = "P7\n# made by hand\nWIDTH 1\nHEIGHT 1\n";
  const auto pam = [&](std::string_view rest) { return std::string(header) + std::string(rest); };
  CHECK(Greys(pam("DEPTH 1\nMAXVAL 255\nTUPLTYPE GRAYSCALE\nENDHDR\nx")) == Values{'x'});
  CHECK(Colours(pam("DEPTH 3\nMAXVAL 255\nENDHDR\nabc")) == Values{'a', 'b', 'c'});
  CHECK(Colours(pam("DEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\nabc\x40"), options) ==
        Values{Over('a' / 255.0, 64 / 255.0, 200), Over('b' / 255.0, 64 / 255.0, 100),
               Over('c' / 255.0, 64 / 255.0, 0)});
  CHECK(Colours(pam("DEPTH 2\nMAXVAL 255\nENDHDR\na\x40"), options) ==
        Values{Over('a' / 255.0, 64 / 255.0, 200), Over('a' / 255.0, 64 / 255.0, 100),
               Over('a' / 255.0, 64 / 255.0, 0)});
  CHECK_THAT(ConvertOne(TextFile(pam("DEPTH 7\nMAXVAL 255\nENDHDR\nabcdefg"))).reason,
             StartsWith("unsupported PAM: it has 7 values"));
}

TEST_CASE(
    "a PPM that ends early is refused or used as far as it goes, and a damaged one is refused") {
  ConvertOptions accept = AsTheyAre();
  accept.form.truncated = sluice::Truncated::kAccept;
  for (const auto& [text, pixels] :
       {std::pair{"P6 2 2 255\nabcdefg"sv,
                  Values{'a', 'b', 'c', 'd', 'e', 'f', 'g', 0, 0, 0, 0, 0}},
        std::pair{"P3 2 1 255 1 2 3 4"sv, Values{1, 2, 3, 4, 0, 0}},
        std::pair{"P1 2 1 0"sv, Values{255, 255, 255, 0, 0, 0}}}) {
    INFO(text);
    CHECK(ConvertOne(TextFile(text)).reason == "broken PPM: it is cut short: its pixels end early");
    CHECK(Colours(text, accept) == pixels);
  }
  CHECK_THAT(ConvertOne(TextFile("P6 2 2 0\nabc")).reason, StartsWith("broken PPM"));
  CHECK_THAT(ConvertOne(TextFile("P6 2 2 70000\nabc")).reason, StartsWith("broken PPM"));
  CHECK_THAT(ConvertOne(TextFile("P3 1 1 255 1 x 3")).reason, StartsWith("broken PPM"));
  CHECK_THAT(ConvertOne(TextFile("P1 2 1 0 7")).reason, StartsWith("broken PPM"));
  CHECK_THAT(ConvertOne(TextFile("P6 99999999999 2 255\n")).reason, StartsWith("broken PPM"));
  CHECK_THAT(ConvertOne(TextFile("P6 4000000000 4000000000 255\nabc")).reason,
             ContainsSubstring("of max_pixels"));
}

namespace {

// The image types; kRunLength is added to one of the others.
constexpr int kColourMapped = 1, kTrueColour = 2, kGreyscale = 3, kRunLength = 8;

// Bits of the descriptor: the side on which rows begin, and whether the first row is at the top.
// Its lowest four bits are the number of bits of opacity.
constexpr int kFromRight = 0x10, kFromTop = 0x20;

struct TgaHeader {
  int type = kTrueColour;
  int depth = 24;
  int descriptor = kFromTop;
  int width = 2, height = 2;
  int palette_bits = 0, palette_size = 0, first_index = 0;
};

FileBytes Tga(const TgaHeader& header, std::initializer_list<int> pixels) {
  return ByteWriter()
      .U8(3)
      .U8(header.palette_bits > 0)
      .U8(static_cast<unsigned>(header.type))
      .U16(static_cast<unsigned>(header.first_index))
      .U16(static_cast<unsigned>(header.palette_size))
      .U8(static_cast<unsigned>(header.palette_bits))
      .U32(0)
      .U16(static_cast<unsigned>(header.width))
      .U16(static_cast<unsigned>(header.height))
      .U8(static_cast<unsigned>(header.depth))
      .U8(static_cast<unsigned>(header.descriptor))
      .Text("its")  // the image ID, whose length is the header's first byte
      .Values(pixels)
      .bytes();
}

Values TgaPixels(const TgaHeader& header, std::initializer_list<int> pixels) {
  return ConvertOne(Tga(header, pixels)).picture.pixels;
}

}  // namespace

TEST_CASE("a TGA's rows run upwards or downwards, from either side") {
  // Blue, green and red of four pixels.
  const std::initializer_list<int> pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  CHECK(TgaPixels({}, pixels) == Values{3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10});
  CHECK(TgaPixels({.descriptor = 0}, pixels) == Values{9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4});
  CHECK(TgaPixels({.descriptor = kFromRight}, pixels) ==
        Values{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
}

TEST_CASE("TGAs of 15 to 32 bits, grey, palettes and run lengths give their colours") {
  // Red, green and blue have 5 bits each; red has the highest.
  CHECK(TgaPixels({.depth = 15, .height = 1}, {0x00, 0x7C, 0xE1, 0x03}) ==
        Values{255, 0, 0, 0, 255, 8});
  CHECK(TgaPixels({.depth = 16, .descriptor = kFromTop | 1, .height = 1},
                  {0x00, 0xFC, 0x00, 0x7C}) == Values{255, 0, 0, 255, 255, 255});
  CHECK(TgaPixels({.type = kGreyscale, .depth = 8}, {1, 2, 3, 4}) ==
        Values{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4});
  CHECK(TgaPixels({.type = kGreyscale, .depth = 16, .descriptor = kFromTop | 8, .height = 1},
                  {10, 255, 10, 0}) == Values{10, 10, 10, 255, 255, 255});
  const TgaHeader opacity = {.depth = 32, .descriptor = kFromTop | 8, .height = 1};
  CHECK(TgaPixels(opacity, {1, 2, 3, 255, 4, 5, 6, 51}) ==
        Values{3, 2, 1, Over(6 / 255.0, 0.2), Over(5 / 255.0, 0.2), Over(4 / 255.0, 0.2)});
  // If every opacity is 0, the picture counts as opaque.
  CHECK(TgaPixels(opacity, {1, 2, 3, 0, 4, 5, 6, 0}) == Values{3, 2, 1, 6, 5, 4});
  CHECK(TgaPixels({.depth = 32, .width = 1, .height = 1}, {1, 2, 3, 9}) == Values{3, 2, 1});
  // A palette of the indices 5 and 6. Index 7 is outside and black.
  CHECK(TgaPixels({.type = kColourMapped,
                   .depth = 8,
                   .palette_bits = 24,
                   .palette_size = 2,
                   .first_index = 5},
                  {1, 2, 3, 4, 5, 6, 5, 6, 5, 7}) == Values{3, 2, 1, 6, 5, 4, 3, 2, 1, 0, 0, 0});
  // Three equal pixels, across the end of a row, and a single one.
  CHECK(TgaPixels({.type = kRunLength + kTrueColour}, {0x82, 1, 2, 3, 0x00, 4, 5, 6}) ==
        Values{3, 2, 1, 3, 2, 1, 3, 2, 1, 6, 5, 4});
  CHECK(TgaPixels({.type = kRunLength + kGreyscale, .depth = 8}, {0x03, 1, 2, 3, 4}) ==
        Values{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4});
}

TEST_CASE("a TGA that ends early is refused or used as far as it goes") {
  ConvertOptions accept = AsTheyAre();
  accept.form.truncated = sluice::Truncated::kAccept;
  const FileBytes file = Tga({}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(ConvertOne(file).reason == "broken TGA: it is cut short: its pixels end early");
  CHECK(ConvertOne(file, accept).picture.pixels == Values{3, 2, 1, 6, 5, 4, 0, 0, 0, 0, 0, 0});
  CHECK_THAT(ConvertOne(Tga({.type = kRunLength + kTrueColour}, {0x83, 1, 2})).reason,
             StartsWith("broken TGA"));
  const TgaHeader indices = {
      .type = kColourMapped, .depth = 8, .palette_bits = 24, .palette_size = 2};
  CHECK_THAT(ConvertOne(Tga(indices, {1, 2})).reason, StartsWith("broken TGA"));
}

}  // namespace sluice::test
