#include "writer/source/packed_page.h"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/zstd.h"
#include "writer/source/crc32c.h"
#include "writer/source/snappy.h"

namespace sluice {

namespace {

// The first part's length is what is left before a head that continues it.
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
  while (!to.empty()) {
    const ssize_t got = pread(file.get(), to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(ErrorCode::kIo, path.string(), "cannot be read: " + SystemErrorText(errno));
    }
    if (got == 0) throw Error(ErrorCode::kCorrupt, path.string(), "ends before its content does");
    to = to.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

}  // namespace sluice
