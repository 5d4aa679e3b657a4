// Where a block's payloads begin (format/FORMAT.md, "Blocks").
#pragma once

#include "format/disk/block.h"

namespace sluice {

// The offset in bytes from the block's beginning: after the table of `samples` rows.
constexpr std::uint64_t PayloadStart(std::uint64_t samples, std::uint64_t row_bytes) noexcept {
  return AlignUp(sizeof(BlockHeader) + samples * row_bytes, kPayloadAlignment);
}

}  // namespace sluice
