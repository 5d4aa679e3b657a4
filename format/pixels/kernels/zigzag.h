// The order in which a block's coefficients are coded, and how to undo it.
#pragma once

#include <cstdint>

namespace sluice::kernels {

struct ZigzagOrder {
  std::uint8_t natural[64] = {};  // natural index by zigzag position
  constexpr ZigzagOrder() {
    int x = 0;
    int y = 0;
    for (std::uint8_t& index : natural) {
      index = static_cast<std::uint8_t>(y * 8 + x);
      // Up and to the right on even diagonals, down and to the left on odd ones; along the edges
      // between.
      const bool up = (x + y) % 2 == 0;
      if (up) {
        if (x == 7)
          ++y;
        else if (y == 0)
          ++x;
        else {
          ++x;
          --y;
        }
      } else {
        if (y == 7)
          ++x;
        else if (x == 0)
          ++y;
        else {
          --x;
          ++y;
        }
      }
    }
  }
};
inline constexpr ZigzagOrder kZigzag;

// Byte shuffles that gather a row of 16-bit coefficients in natural order from a block in zigzag
// order: from the whole of it, or from each of its eight vectors.
struct ZigzagGather {
  alignas(16) std::uint8_t place[8][16] = {};    // [row]
  alignas(32) std::uint8_t from[8][8][32] = {};  // [row][vector], twice; 0x80 gives zero
  bool any[8][8] = {};                           // whether the row takes anything from the vector
  constexpr ZigzagGather() {
    for (auto& row : from) {
      for (auto& vector : row) {
        for (std::uint8_t& byte : vector)
          byte = 0x80;
      }
    }
    for (unsigned position = 0; position < 64; ++position) {
      const unsigned natural = kZigzag.natural[position];
      const unsigned row = natural / 8, vector = position / 8;
      any[row][vector] = true;
      for (unsigned byte = 0; byte < 2; ++byte) {
        const unsigned at = natural % 8 * 2 + byte;
        place[row][at] = static_cast<std::uint8_t>(position * 2 + byte);
        from[row][vector][at] = from[row][vector][at + 16] =
            static_cast<std::uint8_t>(position % 8 * 2 + byte);
      }
    }
  }
};
inline constexpr ZigzagGather kZigzagGather;

// The way back: a vector of eight coefficients in zigzag order from the whole of a block in natural
// order, or from each of its rows.
struct ZigzagScatter {
  alignas(16) std::uint8_t place[8][16] = {};    // [vector]
  alignas(32) std::uint8_t from[8][8][32] = {};  // [vector][row], twice; 0x80 gives zero
  bool any[8][8] = {};                           // whether the vector takes anything from the row
  constexpr ZigzagScatter() {
    for (auto& vector : from) {
      for (auto& row : vector) {
        for (std::uint8_t& byte : row)
          byte = 0x80;
      }
    }
    for (unsigned position = 0; position < 64; ++position) {
      const unsigned natural = kZigzag.natural[position];
      const unsigned row = natural / 8, vector = position / 8;
      any[vector][row] = true;
      for (unsigned byte = 0; byte < 2; ++byte) {
        const unsigned at = position % 8 * 2 + byte;
        place[vector][at] = static_cast<std::uint8_t>(natural * 2 + byte);
        from[vector][row][at] = from[vector][row][at + 16] =
            static_cast<std::uint8_t>(natural % 8 * 2 + byte);
      }
    }
  }
};
inline constexpr ZigzagScatter kZigzagScatter;

// Both as permutations of a whole block's coefficients.
struct ZigzagPlaces {
  alignas(64) std::uint16_t gather[64] = {};   // to natural order
  alignas(64) std::uint16_t scatter[64] = {};  // and back
  constexpr ZigzagPlaces() {
    for (std::uint16_t position = 0; position < 64; ++position) {
      scatter[position] = kZigzag.natural[position];
      gather[kZigzag.natural[position]] = position;
    }
  }
};
inline constexpr ZigzagPlaces kZigzagPlaces;

}  // namespace sluice::kernels
