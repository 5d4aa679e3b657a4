// A decoded source: 8-bit pixels, interleaved, rows without padding.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice {

struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 0;  // 1: grey, 3: RGB
  std::vector<std::uint8_t> pixels;
};

}  // namespace sluice
