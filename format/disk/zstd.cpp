#include "format/disk/zstd.h"

#include <zstd.h>

#include <sluice/error.h>

namespace sluice {

namespace {
// The library also reads skippable frames and those of versions before 1.0; the format has neither.
bool IsFrame(Bytes frame) noexcept {
  return frame.size() >= sizeof(std::uint32_t) &&
         LoadAt<std::uint32_t>(frame, 0) == ZSTD_MAGICNUMBER;
}
}  // namespace

std::vector<std::byte> ZstdCompress(Bytes content, int level) {
  std::vector<std::byte> frame(ZSTD_compressBound(content.size()));
  const std::size_t size =
      ZSTD_compress(frame.data(), frame.size(), content.data(), content.size(), level);
  if (ZSTD_isError(size) != 0) {
    throw Error(ErrorCode::kIo, std::string("zstd could not compress: ") + ZSTD_getErrorName(size));
  }
  frame.resize(size);
  return frame;
}

std::optional<std::uint64_t> ZstdContentBytes(Bytes frame) noexcept {
  if (!IsFrame(frame)) return std::nullopt;
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) return std::nullopt;
  return size;
}

bool ZstdDecompress(Bytes frame, std::span<std::byte> content) noexcept {
  if (!IsFrame(frame)) return false;
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) return false;
  return ZSTD_decompress(content.data(), content.size(), frame.data(), frame.size()) ==
         content.size();
}

const char* ZstdVersion() noexcept {
  return ZSTD_versionString();
}

}  // namespace sluice
