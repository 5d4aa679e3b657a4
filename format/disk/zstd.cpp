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

namespace {

// Cuts the frame to the size that a compression returned.
void Cut(std::size_t size, std::vector<std::byte>& frame) {
  if (ZSTD_isError(Checked(size)) != 0) {
    throw Error(ErrorCode::kIo, std::string("zstd could not compress: ") + ZSTD_getErrorName(size));
  }
  frame.resize(size);
}

bool IsOneFrame(Bytes frame) noexcept {
  return IsFrame(frame) && ZSTD_findFrameCompressedSize(frame.data(), frame.size()) == frame.size();
}

}  // namespace

std::vector<std::byte> ZstdCompress(Bytes content, int level) {
  std::vector<std::byte> frame(ZSTD_compressBound(content.size()));
  Cut(ZSTD_compress(frame.data(), frame.size(), content.data(), content.size(), level), frame);
  return frame;
}

ZstdCompressor::ZstdCompressor(int level) : context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(static_cast<ZSTD_CCtx*>(context_.get()), ZSTD_c_compressionLevel, level);
}

void ZstdCompressor::SetMinMatch(int bytes) {
  ZSTD_CCtx_setParameter(static_cast<ZSTD_CCtx*>(context_.get()), ZSTD_c_minMatch, bytes);
}

void ZstdCompressor::Compress(Bytes content, std::vector<std::byte>& frame) {
  frame.resize(ZSTD_compressBound(content.size()));
  Cut(ZSTD_compress2(static_cast<ZSTD_CCtx*>(context_.get()), frame.data(), frame.size(),
                     content.data(), content.size()),
      frame);
}

void ZstdCompressor::Free::operator()(void* context) const noexcept {
  ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context));
}

bool ZstdDecompressor::Decompress(Bytes frame, std::span<std::byte> content) {
  if (!IsOneFrame(frame)) return false;
  if (!context_) context_.reset(ZSTD_createDCtx());
  if (!context_) throw std::bad_alloc();
  return Checked(ZSTD_decompressDCtx(static_cast<ZSTD_DCtx*>(context_.get()), content.data(),
                                     content.size(), frame.data(), frame.size())) == content.size();
}

void ZstdDecompressor::Free::operator()(void* context) const noexcept {
  ZSTD_freeDCtx(static_cast<ZSTD_DCtx*>(context));
}

std::optional<std::uint64_t> ZstdContentBytes(Bytes frame) noexcept {
  if (!IsFrame(frame)) return std::nullopt;
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) return std::nullopt;
  return size;
}

bool ZstdDecompress(Bytes frame, std::span<std::byte> content) {
  if (!IsOneFrame(frame)) return false;
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
