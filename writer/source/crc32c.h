// CRC-32C, which TFRecord's checksums are made of.
#pragma once

#include "format/disk/bytes.h"

namespace sluice {

std::uint32_t Crc32c(Bytes bytes) noexcept;

// As TFRecord stores it.
constexpr std::uint32_t MaskedCrc(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

}  // namespace sluice
