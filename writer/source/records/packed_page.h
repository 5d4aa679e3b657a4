// Unpacks the pages of archives (PackedPage in source_list.h): what their codecs are.
#pragma once

#include <string>

#include "writer/source/list/source_list.h"

namespace sluice {

inline constexpr std::uint32_t kRecordIoMagic = 0xced7230a;

// The header that makes a PPM of that many bytes of RGB.
std::string PpmHeader(std::uint64_t bytes, std::uint32_t width);

// Unpacks into exactly `content`. False if the bytes do not unpack to that size, or a checksum is
// wrong.
bool UnpackPage(const PackedPage& page, Bytes stored, std::span<std::byte> content);

std::uint32_t Crc32c(Bytes bytes) noexcept;

// The CRC as TFRecord stores it: masked, because the CRC of bytes that end in their own CRC is a
// constant.
constexpr std::uint32_t MaskedCrc(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

// Decompresses into exactly `content`. False if the bytes do not decompress to that size.
bool SnappyDecompress(Bytes compressed, std::span<std::byte> content) noexcept;

}  // namespace sluice
