// SHA-256 and the keyed digest made of it (HMAC, RFC 2104).
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "format/disk/bytes.h"

namespace sluice {

using Sha256Digest = std::array<std::byte, 32>;

Sha256Digest Sha256(Bytes content);
Sha256Digest HmacSha256(Bytes key, Bytes content);

// In 64 lower-case hexadecimal digits.
std::string HexOf(const Sha256Digest& digest);

}  // namespace sluice
