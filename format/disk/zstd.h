// zstd frames, with their sizes checked before memory is taken.
#pragma once

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

// The library's version, such as "1.5.4".
const char* ZstdVersion() noexcept;

}  // namespace sluice
