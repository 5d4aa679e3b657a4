// Checksums stop damaged bytes at the door. To test what lies behind it, they are put right.
#pragma once

#include "format/disk/bytes.h"

namespace sluice::fuzz {

// Recomputes every checksum of a shard that can be found, whatever its other bytes say: of header
// and schema, of blocks, their tables and payloads where the directory has them, of sections,
// directory and tail.
void ResealShard(std::span<std::byte> file);

}  // namespace sluice::fuzz
