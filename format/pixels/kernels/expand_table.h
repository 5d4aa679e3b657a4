// Shuffles that put bytes lying one behind another to the places of a mask's ones.
#pragma once

#include <cstdint>

namespace sluice::kernels {

// By mask: for each of eight places which byte goes there; 0x80, which shuffles make a zero of,
// where none does.
struct ExpandTable {
  alignas(64) std::uint8_t shuffle[256][8] = {};
  constexpr ExpandTable() {
    for (unsigned mask = 0; mask < 256; ++mask) {
      std::uint8_t next = 0;
      for (unsigned place = 0; place < 8; ++place) {
        shuffle[mask][place] = (mask >> place & 1) != 0 ? next++ : std::uint8_t{0x80};
      }
    }
  }
};
inline constexpr ExpandTable kExpand;

}  // namespace sluice::kernels
