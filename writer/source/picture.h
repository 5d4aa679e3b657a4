// A decoded source: 8-bit values, rows without padding.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice {

struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 0;  // 1: grey, 3: RGB, interleaved
  std::vector<std::uint8_t> pixels;
  bool ycc420 = false;  // `pixels` has three planes instead: see Ycc420Values()
};

}  // namespace sluice
