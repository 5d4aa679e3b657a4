// The format's checksums and digests: XXH3 with its default secret and no seed.
#pragma once

#include <initializer_list>

#include "format/disk/bytes.h"

namespace sluice {

std::uint64_t Hash64(Bytes bytes) noexcept;

// XXH3-128 in its canonical (big-endian) byte order, so that the text form is what xxhsum prints.
Id128 Hash128(Bytes bytes) noexcept;
// The digest of all parts, joined in their order.
Id128 Hash128(std::initializer_list<Bytes> parts);

}  // namespace sluice
