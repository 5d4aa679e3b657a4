// Damaged bytes fail a checksum before any other check sees them. To test the other checks, the
// checksums are corrected.
#pragma once

#include "format/disk/bytes.h"

namespace sluice::fuzz {

// Recomputes every checksum of a shard that can be found, whatever the other bytes are: of header
// and schema; of blocks with their tables and payloads, at the offsets in the directory; of
// sections, directory and tail.
void ResealShard(std::span<std::byte> file);

}  // namespace sluice::fuzz
