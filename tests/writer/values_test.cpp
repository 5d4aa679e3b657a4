// Files as values: numbers that become those of pixel types, and headers that lie.
#include "writer/source/images/values.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <sluice/error.h>

#include "tests/catch.h"
#include "tests/writer/converted.h"
#include "writer/source/images/image_kinds.h"

namespace sluice::test {

namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::uint64_t kMostPixels = 1 << 20;

FileBytes Npy(const std::string& header, const FileBytes& content) {
  ByteWriter file;
  file.Text("\x93NUMPY").U8(1).U8(0).U16(static_cast<unsigned>(header.size())).Text(header);
  return file.Add(content).bytes();
}

template <class T>
FileBytes BytesOf(const std::vector<T>& numbers) {
  const Bytes bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

// The numbers of one line that has this type in NumPy's words.
template <class To, class From>
std::vector<To> Stored(const std::string& type, const std::vector<From>& numbers) {
  const ValuePicture picture =
      DecodeValues(Npy("{'descr': '" + type + "', 'fortran_order': False, 'shape': (1, " +
                           std::to_string(numbers.size()) + "), }",
                       BytesOf(numbers)),
                   kMostPixels);
  std::vector<To> stored(numbers.size());
  REQUIRE(picture.pixels.size() == stored.size() * sizeof(To));
  std::memcpy(stored.data(), picture.pixels.data(), picture.pixels.size());
  return stored;
}

std::string WhyNot(const FileBytes& file) {
  try {
    DecodeValues(file, kMostPixels);
  } catch (const Error& error) {
    return error.sentence();
  }
  return {};
}

}  // namespace

TEST_CASE("integers of 32 and 64 bits become float32 if it holds each of them") {
  using Floats = std::vector<float>;
  // 2^24 + 2 and 2^31 have at most 24 significant bits, 2^24 + 1 has 25.
  CHECK(Stored<float, std::uint32_t>("<u4", {0, 16'777'216, 16'777'218, 2'147'483'648}) ==
        Floats{0, 16'777'216, 16'777'218, 2'147'483'648});
  CHECK(Stored<float, std::int32_t>("<i4", {-16'777'216, std::numeric_limits<int>::min()}) ==
        Floats{-16'777'216, -0x1p31F});
  CHECK(Stored<float, std::int64_t>("<i8", {std::numeric_limits<std::int64_t>::min()}) ==
        Floats{-0x1p63F});
  CHECK_THROWS_AS((Stored<float, std::uint32_t>("<u4", {16'777'217})), Error);
  CHECK_THROWS_AS((Stored<float, std::int32_t>("<i4", {-16'777'217})), Error);
  CHECK_THROWS_AS((Stored<float, std::int64_t>("<i8", {std::numeric_limits<std::int64_t>::max()})),
                  Error);
  CHECK_THROWS_AS((Stored<float, std::uint64_t>("<u8", {UINT64_MAX})), Error);
}

TEST_CASE("doubles become float32 if it holds each of them, NaN and infinity too") {
  const auto stored = Stored<float, double>(
      "<f8", {0.5, -0.0, std::numeric_limits<double>::infinity(), std::nan(""), 0x1p-149});
  CHECK(stored[0] == 0.5F);
  CHECK(std::signbit(stored[1]));
  CHECK(std::isinf(stored[2]));
  CHECK(std::isnan(stored[3]));
  CHECK(stored[4] == 0x1p-149F);
  for (const double number : {0.1, 1e39, 0x1p-150})
    CHECK_THROWS_AS((Stored<float, double>("<f8", {number})), Error);
}

TEST_CASE("signed bytes become int16, and other types keep their bits") {
  CHECK(Stored<std::int16_t, std::int8_t>("|i1", {-128, 0, 127}) ==
        std::vector<std::int16_t>{-128, 0, 127});
  CHECK(Stored<std::uint16_t, std::uint16_t>(">u2", {0x1234}) ==
        std::vector<std::uint16_t>{0x3412});
  // A NaN with a payload of its own.
  CHECK(Stored<std::uint32_t, std::uint32_t>("<f4", {0x7FC0'1234}) ==
        std::vector<std::uint32_t>{0x7FC0'1234});
  CHECK(Stored<std::uint8_t, std::uint8_t>("|b1", {0, 1}) == std::vector<std::uint8_t>{0, 1});
}

TEST_CASE("a number for no data counts only if the type has it") {
  CHECK(AsValue(255, PixelType::kUint8) == 255.0);
  CHECK_FALSE(AsValue(256, PixelType::kUint8));
  CHECK_FALSE(AsValue(-9999, PixelType::kUint16));
  CHECK_FALSE(AsValue(0.5, PixelType::kInt16));
  CHECK_FALSE(AsValue(std::nan(""), PixelType::kInt16));
  CHECK(AsValue(-9999, PixelType::kFloat16) == -10000.0);  // the nearest; -9992 is farther
  CHECK_FALSE(AsValue(1e6, PixelType::kFloat16));
  CHECK(AsValue(-3.40282346638529e+38, PixelType::kFloat32) ==
        double(std::numeric_limits<float>::lowest()));
  CHECK(std::isnan(AsValue(std::nan(""), PixelType::kFloat32).value()));
}

TEST_CASE("a header that claims more than the file has is refused") {
  const auto why = [](const std::string& shape) {
    return WhyNot(
        Npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", FileBytes(64)));
  };
  CHECK(why("(4, 4)").empty());
  CHECK_THAT(why("(4, 5)"), ContainsSubstring("cut short"));
  CHECK_THAT(why("(0, 5)"), ContainsSubstring("has no pixels"));
  CHECK_THAT(why("(70000, 1)"), ContainsSubstring("65535 a side"));
  CHECK_THAT(why("(18446744073709551615, 18446744073709551615)"), ContainsSubstring("pixels"));
  CHECK_THAT(why("(184467440737095516150, 1)"), ContainsSubstring("shape cannot be read"));
  CHECK_THAT(why("(1, 1, 65)"), ContainsSubstring("65 channels"));
  CHECK_THAT(why("(1,"), ContainsSubstring("shape cannot be read"));
  CHECK_THAT(WhyNot(ByteWriter().Text("\x93NUMPY").bytes()), ContainsSubstring("cut short"));
}

}  // namespace sluice::test
