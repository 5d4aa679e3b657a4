// The bytes of a page come from the user's file and may be damaged. So every codec has to fill
// exactly `content`, writes nothing beyond it, and returns false otherwise; the caller knows the
// size beforehand.
// CRC-32C is computed here, eight bytes at a time, with tables that the compiler makes. kPixels
// decompresses nothing: it only puts a header before pixels that an archive stores without one, so
// that they pass for a file.
#include "writer/source/records/packed_page.h"

#include <algorithm>
#include <array>

#include <snappy-c.h>

#include "format/disk/zstd.h"

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

bool SnappyDecompress(Bytes compressed, std::span<std::byte> content) noexcept {
  const std::string_view in = AsText(compressed);
  std::size_t length = content.size();
  return snappy_uncompress(in.data(), in.size(), reinterpret_cast<char*>(content.data()),
                           &length) == SNAPPY_OK &&
         length == content.size();
}

namespace {

// Joins the parts of a split RecordIO record. `stored` begins after the first part's head, so the
// first part's length is not known: the part ends at the next head. RecordIO splits a record where
// its content holds the magic number, which it leaves out there; so one is put between two parts.
bool Join(Bytes stored, std::span<std::byte> content) noexcept {
  std::size_t made = 0;
  const auto put = [&](Bytes bytes) {
    if (bytes.size() > content.size() - made) return false;
    std::copy(bytes.begin(), bytes.end(), content.begin() + static_cast<std::ptrdiff_t>(made));
    made += bytes.size();
    return true;
  };
  // Parts begin at multiples of four from the first one's data, each with a magic number.
  std::size_t begin = 0;
  std::size_t length = 0;
  const auto is_head = [&](std::size_t at) {
    return at + 8 <= stored.size() && LoadAt<std::uint32_t>(stored, at) == kRecordIoMagic;
  };
  while (length < stored.size() && !is_head(length))
    length += 4;
  if (length >= stored.size() || !put(stored.first(length))) return false;
  for (begin = length; begin < stored.size();) {
    if (!is_head(begin)) return false;
    const auto word = LoadAt<std::uint32_t>(stored, begin + 4);
    const std::size_t bytes = word & ((1U << 29) - 1);
    begin += 8;
    if (bytes > stored.size() - begin || !put(stored.subspan(begin - 8, 4)) ||
        !put(stored.subspan(begin, bytes))) {
      return false;
    }
    begin = AlignUp(begin + bytes, std::size_t{4});
  }
  return made == content.size();
}

}  // namespace

std::string PpmHeader(std::uint64_t bytes, std::uint32_t width) {
  return "P6 " + std::to_string(width) + " " + std::to_string(bytes / 3 / width) + " 255\n";
}

bool UnpackPage(const PackedPage& page, Bytes stored, std::span<std::byte> content) {
  switch (page.codec) {
    case PageCodec::kNone:
      if (stored.size() != content.size()) return false;
      std::copy(stored.begin(), stored.end(), content.begin());
      return true;
    case PageCodec::kSnappy: return SnappyDecompress(stored, content);
    case PageCodec::kZstd: return ZstdDecompress(stored, content);
    case PageCodec::kChecked:
      if (stored.size() != content.size() + 4) return false;
      std::copy_n(stored.begin(), content.size(), content.begin());
      return MaskedCrc(Crc32c(content)) == LoadAt<std::uint32_t>(stored, content.size());
    case PageCodec::kJoined: return Join(stored, content);
    case PageCodec::kPixels: {
      const std::string header = PpmHeader(stored.size(), page.width);
      if (content.size() != header.size() + stored.size()) return false;
      const Bytes begin = AsBytes(header);
      std::copy(stored.begin(), stored.end(),
                std::copy(begin.begin(), begin.end(), content.begin()));
      return true;
    }
  }
  return false;
}

}  // namespace sluice
