// The format's checksums of 64 bits and digests of 128 bits.
#include "format/disk/checksum.h"

#include "tests/catch.h"

namespace sluice {

namespace {

// The buffer of xxHash's own sanity check.
std::vector<std::byte> SanityBuffer(std::size_t size) {
  std::vector<std::byte> buffer(size);
  std::uint64_t word = 2654435761U;
  for (std::byte& byte : buffer) {
    byte = static_cast<std::byte>(word >> 56);
    word *= 11400714785074694797U;
  }
  return buffer;
}

}  // namespace

// The unseeded vectors of xxHash 0.8's cli/xsum_sanity_check.c.
TEST_CASE("64-bit checksums are XXH3-64 as published") {
  const std::pair<std::size_t, std::uint64_t> vectors[] = {
      {0, 0x2D06800538D394C2},    {1, 0xC44BDFF4074EECDB},    {6, 0x27B56A84CD2D7325},
      {12, 0xA713DAF0DFBB77E7},   {24, 0xA3FE70BF9D3510EB},   {48, 0x397DA259ECBA1F11},
      {80, 0xBCDEFBBB2C47C90A},   {195, 0xCD94217EE362EC3A},  {403, 0xCDEB804D65C6DEA4},
      {512, 0x617E49599013CB6B},  {2048, 0xDD59E2C3A5F038E0}, {2099, 0xC6B9D9B3FC9AC765},
      {2240, 0x6E73A90539CF2948}, {2367, 0xCB37AEB9E5D361ED}};
  for (const auto& [size, expected] : vectors)
    CHECK(Hash64(SanityBuffer(size)) == expected);
}

// From the same file; the high word comes first in the canonical form.
TEST_CASE("128-bit digests are XXH3-128 in canonical order") {
  const std::pair<std::size_t, const char*> vectors[] = {
      {0, "99aa06d3014798d86001c324468d497f"},   {1, "a6cd5e9392000f6ac44bdff4074eecdb"},
      {6, "082afe0b8162d12a3e7039bdda43cfc6"},   {12, "6e3efd8fc7802b18061a192713f69ad9"},
      {17, "955fa78643ed3669abbc12d11973d7db"},  {240, "aa4202daa2769dc85c9aae94c8ebe5a0"},
      {241, "99a80ecf0ecfc647c5a639ecd2030e5e"}, {512, "18d2d110dcc9bca1617e49599013cb6b"}};
  for (const auto& [size, expected] : vectors) {
    CHECK(ToHex(Hash128(SanityBuffer(size))) == expected);
  }
}

TEST_CASE("a digest of parts equals that of the parts in one piece") {
  const std::vector<std::byte> whole = SanityBuffer(2367);
  const Bytes bytes(whole);
  CHECK(Hash128({bytes.first(5), bytes.subspan(5, 0), bytes.subspan(5)}) == Hash128(bytes));
}

}  // namespace sluice
