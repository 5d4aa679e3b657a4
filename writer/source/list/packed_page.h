// Pieces of archives whose bytes are not the content itself: compressed, checked, split or without
// a header.
//
// Most images lie in their archive byte for byte, and an Extent says where. The others lie in a
// page: its bytes are read whole and unpacked, and the Extent counts from the unpacked beginning.
#pragma once

#include <filesystem>
#include <string>

#include "format/disk/bytes.h"
#include "format/disk/file.h"

namespace sluice {

enum class PageCodec : std::uint8_t {
  kNone = 0,  // this and the next two have Parquet's numbers
  kSnappy = 1,
  kZstd = 6,
  kChecked = 100,  // a TFRecord: the bytes, then their masked CRC-32C
  kJoined = 101,   // the parts of a split RecordIO record, without the first part's head
  kPixels = 102,   // RGB values of 8 bits; unpacked, they are a PPM
};

inline constexpr std::uint32_t kRecordIoMagic = 0xced7230a;

// A page may hold several sources; their extents count from its unpacked beginning.
struct PackedPage {
  std::uint64_t archive = 0;  // of SourceList::archives
  std::uint64_t offset = 0;
  std::uint64_t stored = 0;  // bytes in the archive
  std::uint64_t plain = 0;   // bytes once unpacked
  PageCodec codec = PageCodec::kNone;
  std::uint32_t width = 0;  // kPixels
};

// The header that makes a PPM of that many bytes of RGB.
std::string PpmHeader(std::uint64_t bytes, std::uint32_t width);

// Unpacks into exactly `content`. False if the bytes do not unpack to that size, or a checksum is
// wrong.
bool UnpackPage(const PackedPage& page, Bytes stored, std::span<std::byte> content);

// Reads exactly `to.size()` bytes at `offset`. Throws Error(kIo) or, at the file's end, kCorrupt.
void ReadExactly(const FileHandle& file, const std::filesystem::path& path, std::uint64_t offset,
                 std::span<std::byte> to);

std::uint32_t Crc32c(Bytes bytes) noexcept;

// The CRC as TFRecord stores it: masked, because the CRC of bytes that end in their own CRC is a
// constant.
constexpr std::uint32_t MaskedCrc(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

// Decompresses into exactly `content`. False if the bytes do not decompress to that size.
bool SnappyDecompress(Bytes compressed, std::span<std::byte> content) noexcept;

}  // namespace sluice
