// Images of more than 8 bits per value that use very little of their range.
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

// Two pixels of grey, big-endian.
FileBytes Grey16(unsigned first, unsigned second, int color_type = 0) {
  std::vector<std::uint8_t> rows;
  for (const unsigned value : {first, second}) {
    for (int c = 0; c < (color_type == 0 ? 1 : 3); ++c) {
      rows.push_back(static_cast<std::uint8_t>(value >> 8));
      rows.push_back(static_cast<std::uint8_t>(value));
    }
  }
  return MakePng(2, 1, rows, {.color_type = color_type, .bit_depth = 16});
}

FileBytes Netpbm(const std::string& text) {
  const Bytes bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

bool IsDim(const FileBytes& file) {
  const Converted converted = ConvertOne(file);
  CHECK(converted.reason.empty());
  return converted.summary.dim.count == 1;
}

}  // namespace

TEST_CASE("an image of more than 8 bits is dim if all values are below a quarter of the range") {
  for (const int color_type : {0, 2}) {
    CHECK(IsDim(Grey16(0, 4095, color_type)));
    CHECK(IsDim(Grey16(16'383, 0, color_type)));
    CHECK_FALSE(IsDim(Grey16(0, 16'384, color_type)));
    CHECK_FALSE(IsDim(Grey16(65'535, 3, color_type)));
  }
  // Opacity does not count as brightness.
  CHECK(IsDim(MakePng(1, 1, {0, 9, 255, 255}, {.color_type = 4, .bit_depth = 16})));
  // The range is the one in the header, and an 8-bit image is never dim.
  CHECK(IsDim(Netpbm("P2 2 1 4095 0 1023\n")));
  CHECK_FALSE(IsDim(Netpbm("P2 2 1 4095 0 1024\n")));
  CHECK_FALSE(IsDim(Netpbm("P2 2 1 255 0 3\n")));
  CHECK_FALSE(IsDim(MakePng(Picture{2, 1, 1, {0, 3}})));
}

TEST_CASE("dim images are counted and named, with advice") {
  const TemporaryFolder folder;
  for (const char* name : {"a.png", "b.png", "c.png", "d.png"})
    WriteSource(folder / "source" / name, Grey16(0, 4095));
  WriteSource(folder / "source" / "e.png", Grey16(0, 65'535));
  ConvertOptions options;
  options.shards.keep_order = true;
  const std::string expected =
      "4 images have more than 8 bits a value and use less than a quarter of the range, such as "
      "a.png, b.png, c.png: in 8 bits, values of at most 63 of 255 are left, nearly black. Scale "
      "such images to the whole range before converting (16-bit files that hold 12 bits: by 16)";
  const ConvertSummary summary = ConvertBothWays(folder / "source", folder / "data", options);
  CHECK(summary.dim.count == 4);
  CHECK(WarningWith(summary, "more than 8 bits") == expected);
  CHECK(WarningWith(Convert(folder / "source", folder / "data", options), "more than 8 bits") ==
        expected);  // the second run finds the dataset finished
  options.run.dry_run = true;
  CHECK(WarningWith(Convert(folder / "source", folder / "data", options), "more than 8 bits") ==
        "at least " + expected);
}

}  // namespace sluice::test
