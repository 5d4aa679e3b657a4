// Outlines and runs as masks, compared with pycocotools 2.0.
#include <sluice/error.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "writer/source/labels/masks.h"

namespace sluice::test {

namespace {

// Rows of a 16x12 mask, four hexadecimal digits each: a bit for each pixel.
std::string RowsOf(const Shape& shape) {
  std::vector<std::byte> value;
  AddShape(shape, 1, value);
  const MaskPicture mask = PaintMask(value, 16, 12, false, false);
  std::string rows;
  for (std::size_t i = 0; i < mask.pixels.size(); i += 4) {
    int digit = 0;
    for (std::size_t k = 0; k < 4; ++k)
      digit = 2 * digit + mask.pixels[i + k];
    rows += "0123456789abcdef"[digit];
  }
  return rows;
}

}  // namespace

TEST_CASE("an outline covers the same pixels as in pycocotools") {
  // mask.decode(mask.frPyObjects([outline], 12, 16))
  const auto [outline, rows] = GENERATE(Catch::Generators::table<std::vector<double>, const char*>({
      {{2.3, 1.2, 14.9, 3.4, 12.0, 10.7, 4.4, 9.1},
       "000010001fc01ffe1ffe0ffc0ffc0ff80ff803f000100000"},
      {{5, 5, 5, 5.4, 20.5, -3, 30, 30, -4, 12},
       "0003000f003f007f01ff0fff1fff3fff7fffffffffffffff"},
      {{0, 0, 16, 0, 16, 12, 0, 12}, "ffffffffffffffffffffffffffffffffffffffffffffffff"},
      {{3, 2, 13, 10, 3, 10, 13, 2}, "000000000ff007e003c00180018003c007e00ff000000000"},
  }));
  CHECK(RowsOf({outline, {}, 0, 0}) == rows);
}

TEST_CASE("compressed runs cover the same pixels as in pycocotools") {
  Shape shape;
  shape.runs = DecodeRuns("V15700MJ0630000a2L");  // mask.encode()
  shape.width = 16;
  shape.height = 12;
  CHECK(RowsOf(shape) == "000000001f801f801b801f801f8000000000000000000001");
}

TEST_CASE("damaged runs are refused") {
  // Cut short; before the alphabet; too long a number; after the alphabet; a negative run.
  for (const char* text : {"V", "!", "oooooooooo1", "\x7f", "O"}) {
    CAPTURE(text);
    const auto error = ErrorOf([&] { DecodeRuns(text); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kCorrupt);
  }
}

TEST_CASE("an outline that goes back and forth endlessly is refused before it is drawn") {
  Shape shape;
  for (int i = 0; i < 100'000; ++i)
    shape.outline.insert(shape.outline.end(), {i % 2 == 0 ? -1e300 : 1e300, 5});
  const auto error = ErrorOf([&] { RowsOf(shape); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kCorrupt);
}

TEST_CASE("masks of more than 255 classes have 16 bits") {
  std::vector<std::byte> value;
  AddShape({{0, 0, 2, 0, 2, 1, 0, 1}, {}, 0, 0}, 300, value);
  const MaskPicture mask = PaintMask(value, 2, 1, true, false);
  CHECK(mask.value_bytes == 2);
  CHECK(mask.pixels == std::vector<std::uint8_t>{44, 1, 44, 1});
}

}  // namespace sluice::test
