// Ids, ranges and alignment; numbers and lines in texts.
#include "format/disk/bytes.h"

#include "format/ascii.h"
#include "tests/catch.h"

namespace sluice {

TEST_CASE("an id's text is its bytes in order as lower-case hexadecimal digits") {
  Id128 id;
  for (std::uint8_t i = 0; i < 16; ++i)
    id.bytes[i] = static_cast<std::uint8_t>(i * 0x11);
  CHECK(ToHex(id) == "00112233445566778899aabbccddeeff");
  Id128 read;
  REQUIRE(FromHex("00112233445566778899aabbccddeeff", read));
  CHECK(read == id);
}

TEST_CASE("only 32 lower-case hexadecimal digits are an id") {
  Id128 id;
  CHECK_FALSE(FromHex("", id));
  CHECK_FALSE(FromHex("00112233445566778899aabbccddeef", id));
  CHECK_FALSE(FromHex("00112233445566778899aabbccddeeff0", id));
  CHECK_FALSE(FromHex("00112233445566778899AABBCCDDEEFF", id));
  CHECK_FALSE(FromHex("00112233445566778899aabbccddeefg", id));
  CHECK_FALSE(FromHex("0x112233445566778899aabbccddeeff", id));
}

TEST_CASE("Inside does not overflow") {
  CHECK(Inside(0, 0, 0));
  CHECK(Inside(4, 6, 10));
  CHECK_FALSE(Inside(4, 7, 10));
  CHECK_FALSE(Inside(11, 0, 10));
  CHECK_FALSE(Inside(UINT64_MAX, 2, 10));
  CHECK_FALSE(Inside(2, UINT64_MAX, 10));
}

TEST_CASE("AlignUp goes to the next multiple and no further") {
  CHECK(AlignUp(0, 64) == 0);
  CHECK(AlignUp(1, 64) == 64);
  CHECK(AlignUp(64, 64) == 64);
  CHECK(AlignUp(65, 64) == 128);
}

TEST_CASE("a number is read from a whole text, or from the digits that begin it") {
  CHECK(ParseNumber<std::uint8_t>("e9", 16) == 0xE9);
  CHECK(ParseNumber<double>("-0.5") == -0.5);
  CHECK_FALSE(ParseNumber<std::uint8_t>("256"));
  CHECK_FALSE(ParseNumber<int>("12 "));
  CHECK_FALSE(ParseNumber<int>(""));
  std::string_view text = "17-x";
  CHECK(TakeNumber<unsigned>(text) == 17U);
  CHECK(text == "-x");
  CHECK_FALSE(TakeNumber<unsigned>(text));
  CHECK(text == "-x");
}

TEST_CASE("texts are trimmed at their ends, and taken line by line") {
  CHECK(Trimmed(" \t a b\r\n") == "a b");
  CHECK(Trimmed(" \n").empty());
  CHECK(Trimmed("").empty());
  CHECK(LowerCase("A-Z\xC9") == "a-z\xC9");
  std::string_view text = "a\r\n\nb";
  CHECK(TakeLine(text) == "a\r");
  CHECK(TakeLine(text).empty());
  CHECK(TakeLine(text) == "b");
  CHECK(text.empty());
}

}  // namespace sluice
