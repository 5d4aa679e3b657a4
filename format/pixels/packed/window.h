// The part of a packed image that a region needs: of each component on its own, which blocks, and
// at which size.
#pragma once

#include <cstdint>

#include "format/pixels/packed/layout.h"
#include "format/pixels/planar.h"

namespace sluice::packed {

struct BlockWindow {
  ComponentAxis x, y;           // in the component's samples, after the reduction
  std::uint32_t size_log2 = 3;  // a block becomes 8, 4, 2 or 1 samples square
  std::uint32_t left = 0, top = 0, right = 0, bottom = 0;  // blocks
};

BlockWindow WindowOf(const Header& header, std::uint32_t component, const Region& region,
                     const DecodePolicy& policy) noexcept;

}  // namespace sluice::packed
