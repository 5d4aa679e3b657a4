#include "format/disk/bytes.h"

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

}  // namespace sluice
