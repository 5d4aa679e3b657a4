// Shuffles that spread consecutive bytes to the places of a mask's ones.
#pragma once

#include <cstdint>

namespace sluice::kernels {

// By mask: for each of eight places, the number of the byte that goes there, or 0x80, which a
// shuffle turns into zero.
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
