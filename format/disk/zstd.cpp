// libzstd accepts more than the format has: skippable frames, frames of versions before 1.0, and
// several frames one after another. So each function that reads a frame first requires its magic
// number, and decompression requires that the frame ends where the bytes end.
// The library returns an error as a very large size. ZstdDecompress() finds such errors by
// comparing the result with the expected size. Lack of memory is not the frame's fault: Checked()
// throws for it first.
#include "format/disk/zstd.h"

#include <algorithm>
#include <memory>
#include <new>

#include <zstd.h>
#include <zstd_errors.h>

#include <sluice/error.h>

namespace sluice {

namespace {
// The library also reads skippable frames and those of versions before 1.0; the format has neither.
bool IsFrame(Bytes frame) noexcept {
  return frame.size() >= sizeof(std::uint32_t) &&
         LoadAt<std::uint32_t>(frame, 0) == ZSTD_MAGICNUMBER;
}

// Returns the result of a library function; throws std::bad_alloc if it says that memory is
// lacking.
std::size_t Checked(std::size_t result) {
  if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return result;
}
}  // namespace

std::vector<std::byte> ZstdCompress(Bytes content, int level) {
  std::vector<std::byte> frame(ZSTD_compressBound(content.size()));
  const std::size_t size =
      Checked(ZSTD_compress(frame.data(), frame.size(), content.data(), content.size(), level));
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

bool ZstdDecompress(Bytes frame, std::span<std::byte> content) {
  if (!IsFrame(frame)) return false;
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) return false;
  return Checked(ZSTD_decompress(content.data(), content.size(), frame.data(), frame.size())) ==
         content.size();
}

bool ZstdAppend(Bytes frame, std::uint64_t bytes, std::vector<std::byte>& content) {
  constexpr std::uint64_t kPieceBytes = 1 << 20;
  if (!IsFrame(frame)) return false;
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  if (!stream) throw std::bad_alloc();
  ZSTD_inBuffer in{frame.data(), frame.size(), 0};
  for (;;) {
    const std::size_t before = content.size();
    content.resize(before + static_cast<std::size_t>(std::min(bytes, kPieceBytes)));
    ZSTD_outBuffer out{content.data() + before, content.size() - before, 0};
    const std::size_t left = Checked(ZSTD_decompressStream(stream.get(), &out, &in));
    content.resize(before + out.pos);
    bytes -= out.pos;
    if (left == 0) return bytes == 0 && in.pos == in.size;
    if (ZSTD_isError(left) != 0 || out.pos == 0) return false;
  }
}

const char* ZstdVersion() noexcept {
  return ZSTD_versionString();
}

}  // namespace sluice
