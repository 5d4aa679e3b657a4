// Where a block's payloads begin (format/FORMAT.md, "Blocks").
#pragma once

#include "format/disk/block.h"

namespace sluice {

// In bytes from the block's beginning, for so many samples: behind the table of them.
constexpr std::uint64_t PayloadStart(std::uint64_t samples, std::uint64_t row_bytes) noexcept {
  return AlignUp(sizeof(BlockHeader) + samples * row_bytes, kPayloadAlignment);
}

}  // namespace sluice
