#include "writer/source/crc32c.h"

#include <array>

namespace sluice {

namespace {

// kTables[k][b]: the CRC of byte b with k zeros after it (slicing by 8).
constexpr auto kTables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::uint32_t b = 0; b < 256; ++b)
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 255];
  }
  return tables;
}();

}  // namespace

std::uint32_t Crc32c(Bytes bytes) noexcept {
  std::uint32_t crc = ~0U;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    const std::uint64_t word = LoadAt<std::uint64_t>(bytes, at) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k)
      crc ^= kTables[7 - k][(word >> (8 * k)) & 255];
  }
  for (; at < bytes.size(); ++at)
    crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<std::uint32_t>(bytes[at])) & 255];
  return ~crc;
}

}  // namespace sluice
