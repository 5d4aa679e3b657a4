// The part of a baseline JPEG that a region needs: which MCUs, and at which size.
#pragma once

#include <cstdint>

#include "format/pixels/baseline/header.h"
#include "format/pixels/planar.h"

namespace sluice::baseline {

struct ComponentWindow {
  ComponentAxis x, y;                   // in its samples, after the reduction
  std::uint32_t size_log2 = 3;          // a block becomes 8, 4, 2 or 1 samples square
  std::uint32_t left = 0, top = 0;      // the window's corner, and
  std::uint32_t width = 0, height = 0;  // its size, in samples
};

struct McuWindow {
  std::uint32_t left = 0, top = 0, right = 0, bottom = 0;
  ComponentWindow component[3];

  McuWindow(const Header& header, const Region& region, const DecodePolicy& policy) noexcept;
};

}  // namespace sluice::baseline
