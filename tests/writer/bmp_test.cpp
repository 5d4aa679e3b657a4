// BMP files made byte by byte from Microsoft's description of the format.
#include "tests/catch.h"
#include "tests/writer/converted.h"

namespace sluice::test {

namespace {

struct Bmp {
  std::int32_t width = 0, height = 0;
  unsigned bits = 24;
  // 0: as they are; 1 and 2: run lengths of 8 and 4 bits; 3: with masks.
  unsigned coding = 0;
  std::uint32_t header = 40;
  std::vector<std::uint32_t> masks = {};    // after a header of 40 bytes, inside a longer one
  std::vector<std::uint32_t> palette = {};  // 0xRRGGBB
  FileBytes pixels;
};

FileBytes WriteBmp(const Bmp& bmp) {
  ByteWriter out;
  const auto masks = static_cast<std::uint32_t>(bmp.header == 40 ? bmp.masks.size() * 4 : 0);
  const auto palette = static_cast<std::uint32_t>(bmp.palette.size() * 4);
  const std::uint32_t offset = 14 + bmp.header + masks + palette;
  out.Text("BM").U32(offset + static_cast<std::uint32_t>(bmp.pixels.size())).U32(0).U32(offset);
  out.U32(bmp.header).U32(static_cast<std::uint32_t>(bmp.width));
  out.U32(static_cast<std::uint32_t>(bmp.height)).U16(1).U16(bmp.bits).U32(bmp.coding);
  out.U32(0).U32(2835).U32(2835).U32(static_cast<std::uint32_t>(bmp.palette.size())).U32(0);
  for (const std::uint32_t mask : bmp.masks)
    out.U32(mask);
  while (out.bytes().size() < 14 + bmp.header)
    out.U8(0);
  for (const std::uint32_t colour : bmp.palette)
    out.U32(colour);  // blue first, then green and red
  return out.Add(bmp.pixels).bytes();
}

std::vector<std::uint8_t> PixelsOf(const Bmp& bmp) {
  const Converted converted = ConvertOne(WriteBmp(bmp));
  CHECK(converted.reason == "");
  return converted.picture.pixels;
}

using Values = std::vector<std::uint8_t>;

FileBytes BytesOf(std::initializer_list<int> values) {
  return ByteWriter().Values(values).bytes();
}

}  // namespace

TEST_CASE("BMPs of 24 bits are read from the bottom up, or from the top down if they say so") {
  const Picture picture = MakePicture(5, 3);  // rows of 15 bytes and one of padding
  for (const bool down : {false, true}) {
    ByteWriter rows;
    for (std::uint32_t i = 0; i < 3; ++i) {
      const std::uint32_t y = down ? i : 2 - i;
      for (std::uint32_t x = 0; x < 5; ++x)
        rows.Values({picture.at(x, y)[2], picture.at(x, y)[1], picture.at(x, y)[0]});
      rows.U8(0);
    }
    CHECK(PixelsOf({5, down ? -3 : 3, 24, 0, 40, {}, {}, rows.bytes()}) == picture.pixels);
  }
}

TEST_CASE("BMPs of 1, 2, 4 and 8 bits give the colours of their palette") {
  const std::vector<std::uint32_t> palette = {0xFF0000, 0x00FF00, 0x0A141E, 0xFFFFFF};
  const Values expected = {0, 255, 0, 255, 0, 0, 255, 0, 0};
  CHECK(PixelsOf({.width = 3,
                  .height = 1,
                  .bits = 1,
                  .palette = palette,
                  .pixels = BytesOf({0b10000000, 0, 0, 0})}) == expected);
  CHECK(PixelsOf({.width = 3,
                  .height = 1,
                  .bits = 2,
                  .palette = palette,
                  .pixels = BytesOf({0b01000000, 0, 0, 0})}) == expected);
  CHECK(PixelsOf({.width = 3,
                  .height = 1,
                  .bits = 4,
                  .palette = palette,
                  .pixels = BytesOf({0x10, 0x00, 0, 0})}) == expected);
  CHECK(PixelsOf({.width = 3,
                  .height = 1,
                  .bits = 8,
                  .palette = palette,
                  .pixels = BytesOf({1, 0, 0, 0})}) == expected);
  // An index outside the palette is black.
  CHECK(PixelsOf({.width = 1,
                  .height = 1,
                  .bits = 8,
                  .palette = palette,
                  .pixels = BytesOf({9, 0, 0, 0})}) == Values{0, 0, 0});
}

TEST_CASE("BMPs of 16 and 32 bits are split by their masks") {
  // Five bits for each colour, unless the file says otherwise; 31 is the full value.
  CHECK(PixelsOf(
            {.width = 2, .height = 1, .bits = 16, .pixels = BytesOf({0x00, 0x7C, 0x10, 0x00})}) ==
        Values{255, 0, 0, 0, 0, 132});
  const std::vector<std::uint32_t> rgb565 = {0xF800, 0x07E0, 0x001F};
  CHECK(PixelsOf({.width = 2,
                  .height = 1,
                  .bits = 16,
                  .coding = 3,
                  .masks = rgb565,
                  .pixels = BytesOf({0xE0, 0x07, 0x20, 0xF8})}) == Values{0, 255, 0, 255, 4, 0});
  CHECK(PixelsOf({.width = 1, .height = 1, .bits = 32, .pixels = BytesOf({30, 20, 10, 99})}) ==
        Values{10, 20, 30});
  const std::vector<std::uint32_t> ten_bits = {0x3FF00000, 0x000FFC00, 0x000003FF};
  CHECK(PixelsOf({.width = 1,
                  .height = 1,
                  .bits = 32,
                  .coding = 3,
                  .masks = ten_bits,
                  .pixels = BytesOf({0xFF, 0x03, 0x00, 0x20})}) == Values{128, 0, 255});
}

TEST_CASE("a BMP's opacity counts if a long header has a mask for it and some pixel is visible") {
  const std::vector<std::uint32_t> masks = {0xFF0000, 0xFF00, 0xFF, 0xFF000000};
  CHECK(PixelsOf({.width = 2,
                  .height = 1,
                  .bits = 32,
                  .coding = 3,
                  .header = 108,
                  .masks = masks,
                  .pixels = BytesOf({200, 100, 0, 128, 1, 2, 3, 0})}) ==
        Values{Over(0, 128 / 255.0), Over(100 / 255.0, 128 / 255.0), Over(200 / 255.0, 128 / 255.0),
               255, 255, 255});
  CHECK(PixelsOf({.width = 1,
                  .height = 1,
                  .bits = 32,
                  .coding = 3,
                  .header = 124,
                  .masks = masks,
                  .pixels = BytesOf({1, 2, 3, 0})}) == Values{3, 2, 1});
}

TEST_CASE("run-length BMPs give their runs, literals and jumps") {
  const std::vector<std::uint32_t> palette = {0x000000, 0x010101, 0x020202, 0x030303, 0x040404};
  // Two pixels of index 1; literals 2 3 4 and a byte of padding; end of row. A jump by one to the
  // right and none up; one pixel of index 4.
  const FileBytes runs8 = BytesOf({2, 1, 0, 3, 2, 3, 4, 0, 0, 0, 0, 2, 1, 0, 1, 4, 0, 1});
  const auto grey = [](std::initializer_list<int> values) {
    Values pixels;
    for (const int value : values)
      pixels.insert(pixels.end(), 3, static_cast<std::uint8_t>(value));
    return pixels;
  };
  CHECK(
      PixelsOf(
          {.width = 5, .height = 2, .bits = 8, .coding = 1, .palette = palette, .pixels = runs8}) ==
      grey({0, 4, 0, 0, 0, 1, 1, 2, 3, 4}));
  // Nibbles: three pixels, 1 2 1; literals 3 4 3 in two bytes; end of picture.
  const FileBytes runs4 = BytesOf({3, 0x12, 0, 3, 0x34, 0x30, 0, 1});
  CHECK(
      PixelsOf(
          {.width = 6, .height = 1, .bits = 4, .coding = 2, .palette = palette, .pixels = runs4}) ==
      grey({1, 2, 1, 3, 4, 3}));
  // The end mark may be missing, but pixels may not.
  CHECK(PixelsOf({.width = 2,
                  .height = 1,
                  .bits = 8,
                  .coding = 1,
                  .palette = palette,
                  .pixels = BytesOf({2, 3})}) == grey({3, 3}));
  CHECK(ConvertOne(WriteBmp({.width = 2,
                             .height = 2,
                             .bits = 8,
                             .coding = 1,
                             .palette = palette,
                             .pixels = BytesOf({2, 3})}))
            .reason.find("end early") != std::string::npos);
}

TEST_CASE("BMPs of OS/2 with its short header are read") {
  ByteWriter out;
  out.Text("BM").U32(0).U32(0).U32(14 + 12 + 6);
  out.U32(12).U16(2).U16(1).U16(1).U16(1);  // 2x1, one plane, one bit
  out.Values({30, 20, 10, 3, 2, 1});        // a palette of three bytes each
  out.Values({0b01000000, 0, 0, 0});
  CHECK(ConvertOne(out.bytes()).picture.pixels == Values{10, 20, 30, 1, 2, 3});
}

TEST_CASE("a BMP whose pixel offset points into its palette is read from after the palette") {
  const std::vector<std::uint32_t> palette = {0x0A141E, 0xFF0000};
  const auto moved = [](const Bmp& bmp, unsigned offset) {
    FileBytes file = WriteBmp(bmp);
    file[10] = static_cast<std::byte>(offset);
    return ConvertOne(file);
  };
  const Bmp whole{
      .width = 2, .height = 1, .bits = 8, .palette = palette, .pixels = BytesOf({1, 0, 0, 0})};
  const Values expected = {255, 0, 0, 10, 20, 30};
  CHECK(moved(whole, 62).picture.pixels == expected);  // the right offset
  CHECK(moved(whole, 54).picture.pixels == expected);
  CHECK(moved(whole, 58).picture.pixels == expected);
  CHECK(moved({.width = 2,
               .height = 1,
               .bits = 8,
               .coding = 1,
               .palette = palette,
               .pixels = BytesOf({1, 1, 1, 0, 0, 1})},
              54)
            .picture.pixels == expected);  // a picture of runs
  // A file without the palette that its header states is refused; its picture would be black.
  FileBytes none = WriteBmp({.width = 2, .height = 1, .bits = 8, .pixels = BytesOf({1, 0, 0, 0})});
  none[46] = std::byte{2};
  CHECK(ConvertOne(none).reason.find("where its palette should be") != std::string::npos);
  // If the palette is shorter than stated, the offset is right.
  FileBytes shorter = WriteBmp(whole);
  shorter[46] = std::byte{16};
  CHECK(ConvertOne(shorter).picture.pixels == expected);
}

TEST_CASE(
    "BMPs that end early, contradict themselves or use another coding are left out with a reason") {
  const Bmp whole{.width = 4, .height = 4, .pixels = FileBytes(48)};
  CHECK(ConvertOne(WriteBmp(whole)).reason == "");
  const auto reason = [](const Bmp& bmp) { return ConvertOne(WriteBmp(bmp)).reason; };
  const auto says = [](const std::string& text, const char* what) {
    INFO(text);
    return text.find(what) != std::string::npos;
  };
  CHECK(says(ConvertOne(Truncated(WriteBmp(whole), 54 + 47)).reason, "end early"));
  CHECK(says(ConvertOne(Truncated(WriteBmp(whole), 30)).reason, "header"));
  CHECK(says(reason({.width = 4, .height = 0, .pixels = FileBytes(48)}), "no pixels"));
  CHECK(says(reason({.width = -4, .height = 4, .pixels = FileBytes(48)}), "less than 0"));
  CHECK(says(reason({.width = 4, .height = 4, .coding = 4, .pixels = FileBytes(48)}), "coding 4"));
  CHECK(says(reason({.width = 4, .height = 4, .bits = 5, .pixels = FileBytes(48)}), "5 bits"));
  CHECK(says(reason({.width = 4,
                     .height = 4,
                     .bits = 16,
                     .coding = 3,
                     .masks = {0xF0F, 0xF0, 0xF000},
                     .pixels = FileBytes(48)}),
             "gaps"));
  CHECK(says(reason({100'000, 100'000, 8, 1, 40, {}, {1}, FileBytes(4)}), "100000x100000 pixels"));
}

}  // namespace sluice::test
