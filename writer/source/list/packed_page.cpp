#include "writer/source/list/packed_page.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <sluice/error.h>

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

namespace {

// Snappy's raw format: the length, then literals and copies of bytes that were made before.
class Decompressor {
 public:
  Decompressor(Bytes in, std::span<std::byte> out) : in_(in), out_(out) {}

  bool Run() noexcept {
    if (!Length()) return false;
    while (at_ < in_.size()) {
      const unsigned tag = std::to_integer<unsigned>(in_[at_++]);
      if (!((tag & 3) == 0 ? Literal(tag >> 2) : Copy(tag))) return false;
    }
    return made_ == out_.size();
  }

 private:
  bool Little(unsigned bytes, std::uint64_t& number) noexcept {
    if (in_.size() - at_ < bytes) return false;
    number = 0;
    for (unsigned i = 0; i < bytes; ++i)
      number |= std::to_integer<std::uint64_t>(in_[at_++]) << (8 * i);
    return true;
  }

  // The length at the beginning, seven bits a byte.
  bool Length() noexcept {
    std::uint64_t length = 0;
    for (unsigned shift = 0; shift < 35 && at_ < in_.size(); shift += 7) {
      const unsigned byte = std::to_integer<unsigned>(in_[at_++]);
      length |= std::uint64_t{byte & 127} << shift;
      if (byte < 128) return length == out_.size();
    }
    return false;
  }

  bool Literal(std::uint64_t length) noexcept {
    if (length >= 60 && !Little(static_cast<unsigned>(length - 59), length)) return false;
    ++length;
    if (length > in_.size() - at_ || length > out_.size() - made_) return false;
    std::memcpy(out_.data() + made_, in_.data() + at_, length);
    at_ += length;
    made_ += length;
    return true;
  }

  bool Copy(unsigned tag) noexcept {
    std::uint64_t offset = 0;
    std::uint64_t length = (tag >> 2) + 1;
    if ((tag & 3) == 1) {
      if (!Little(1, offset)) return false;
      length = ((tag >> 2) & 7) + 4;
      offset |= std::uint64_t{tag >> 5} << 8;
    } else if (!Little((tag & 3) == 2 ? 2 : 4, offset)) {
      return false;
    }
    if (offset == 0 || offset > made_ || length > out_.size() - made_) return false;
    for (; length > 0; --length, ++made_)  // the copy may overlap what it makes
      out_[made_] = out_[made_ - offset];
    return true;
  }

  Bytes in_;
  std::span<std::byte> out_;
  std::size_t at_ = 0;
  std::size_t made_ = 0;
};

}  // namespace

bool SnappyDecompress(Bytes compressed, std::span<std::byte> content) noexcept {
  return Decompressor(compressed, content).Run();
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

void ReadExactly(const FileHandle& file, const std::filesystem::path& path, std::uint64_t offset,
                 std::span<std::byte> to) {
  if (ReadAt(file, path, offset, to) < to.size()) {
    throw Error(ErrorCode::kCorrupt, path.string(), "ends before its content does");
  }
}

}  // namespace sluice
