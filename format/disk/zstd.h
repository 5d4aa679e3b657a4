// zstd frames, with their sizes checked before memory is taken.
#pragma once

#include <memory>
#include <optional>

#include "format/disk/bytes.h"

namespace sluice {

// One frame that declares its content's size; the same input gives the same bytes for the same
// libzstd.
std::vector<std::byte> ZstdCompress(Bytes content, int level = 3);

// The size that the frame declares for its content; nullopt if it declares none or is malformed.
std::optional<std::uint64_t> ZstdContentBytes(Bytes frame) noexcept;

// False unless `frame` is exactly one whole frame whose content fills `content` exactly. Throws
// std::bad_alloc.
bool ZstdDecompress(Bytes frame, std::span<std::byte> content);

// Like ZstdDecompress(), but appends to `content`; false if the frame's content is not `bytes`
// long. Memory grows only with the bytes that were decompressed, since `bytes` may be a false
// claim.
bool ZstdAppend(Bytes frame, std::uint64_t bytes, std::vector<std::byte>& content);

// As ZstdCompress() and ZstdDecompress(), for many small frames: keeps the library's working
// memory. One thread at a time.
class ZstdCompressor {
 public:
  explicit ZstdCompressor(int level = 3);
  // Shorter matches are not looked for: less to decode, for content in which they save little.
  void SetMinMatch(int bytes);
  // Replaces `frame`.
  void Compress(Bytes content, std::vector<std::byte>& frame);

 private:
  struct Free {
    void operator()(void* context) const noexcept;
  };
  std::unique_ptr<void, Free> context_;
};
class ZstdDecompressor {
 public:
  // The first call takes the working memory, 95 KB.
  bool Decompress(Bytes frame, std::span<std::byte> content);

 private:
  struct Free {
    void operator()(void* context) const noexcept;
  };
  std::unique_ptr<void, Free> context_;
};

// The library's version, such as "1.5.4".
const char* ZstdVersion() noexcept;

}  // namespace sluice
