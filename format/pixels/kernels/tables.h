// Constants and tables that all instruction sets share: the zigzag order, the inverse transform's
// factors, and shuffles.
#pragma once

#include <cstdint>

namespace sluice::kernels {

// The order in which a block's coefficients are coded, and how to undo it.
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

// Byte shuffles between the two orders of a block's 16-bit coefficients. In either order, a block
// is eight vectors. place[to] gathers vector `to` of the new order from the whole block;
// from[to][i] gathers the part of it that lies in vector i of the old order.
struct ZigzagShuffles {
  alignas(16) std::uint8_t place[8][16] = {};
  alignas(32) std::uint8_t from[8][8][32] = {};  // twice in a row; 0x80 gives zero
  bool any[8][8] = {};                           // [to][i]: whether there is such a part
  constexpr explicit ZigzagShuffles(bool to_natural) {
    for (auto& to : from) {
      for (auto& vector : to) {
        for (std::uint8_t& byte : vector)
          byte = 0x80;
      }
    }
    for (unsigned position = 0; position < 64; ++position) {
      const unsigned natural = kZigzag.natural[position];
      const unsigned to = to_natural ? natural : position, of = to_natural ? position : natural;
      any[to / 8][of / 8] = true;
      for (unsigned byte = 0; byte < 2; ++byte) {
        const unsigned at = to % 8 * 2 + byte;
        place[to / 8][at] = static_cast<std::uint8_t>(of * 2 + byte);
        from[to / 8][of / 8][at] = from[to / 8][of / 8][at + 16] =
            static_cast<std::uint8_t>(of % 8 * 2 + byte);
      }
    }
  }
};
inline constexpr ZigzagShuffles kZigzagGather(true);    // rows in natural order
inline constexpr ZigzagShuffles kZigzagScatter(false);  // vectors in zigzag order

// The two orders as permutations of a whole block's coefficients.
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

// The 4 x 4 coefficients of the lowest frequencies, gathered from zigzag order in two vectors: rows
// 0 and 1, then rows 2 and 3.
struct ZigzagFours {
  // The first positions of three runs of eight coefficients, which together hold all 16.
  static constexpr unsigned kParts[3] = {0, 8, 17};
  alignas(16) std::uint8_t place[2][16] = {};    // [to], from the block's first 32 coefficients
  alignas(32) std::uint8_t from[2][3][32] = {};  // [to][part], twice; 0x80 gives zero
  // For two blocks at once: where the coefficients of both first vectors are, then those of both
  // second vectors. Places 0 to 31 are in the first block, 32 to 63 in the second.
  alignas(64) std::uint16_t pair[32] = {};
  constexpr ZigzagFours() {
    for (auto& to : from) {
      for (auto& part : to) {
        for (std::uint8_t& byte : part)
          byte = 0x80;
      }
    }
    for (unsigned to = 0; to < 16; ++to) {
      const unsigned natural = to / 4 * 8 + to % 4;
      unsigned position = 0;
      while (kZigzag.natural[position] != natural)
        ++position;
      const unsigned part = position < kParts[1] ? 0 : position < kParts[2] ? 1 : 2;
      for (unsigned byte = 0; byte < 2; ++byte) {
        const unsigned at = to % 8 * 2 + byte;
        place[to / 8][at] = static_cast<std::uint8_t>(position * 2 + byte);
        from[to / 8][part][at] = from[to / 8][part][at + 16] =
            static_cast<std::uint8_t>((position - kParts[part]) * 2 + byte);
      }
      pair[to / 8 * 16 + to % 8] = static_cast<std::uint16_t>(position);
      pair[to / 8 * 16 + to % 8 + 8] = static_cast<std::uint16_t>(position + 32);
    }
  }
};
inline constexpr ZigzagFours kZigzagFours;

inline constexpr int kConstBits = 13;  // bits after the binary point
// Factors, named after their decimal values: k0298 is 0.298...
inline constexpr int k0298 = 2446, k0390 = 3196, k0541 = 4433, k0765 = 6270, k0899 = 7373,
                     k1000 = 8192, k1175 = 9633, k1306 = 10703, k1501 = 12299, k1847 = 15137,
                     k1961 = 16069, k2053 = 16819, k2562 = 20995, k3072 = 25172;

// kMeans[k][0] is the amount that frequency k adds to the mean of the first two samples, with
// kConstBits: sqrt(2) cos(k pi / 16) cos(k pi / 8). For odd k, kMeans[k][1] is the amount that it
// adds to the mean of the third and fourth sample: as before, but with cos(3 k pi / 8).
inline constexpr std::int16_t kMeans[8][2] = {{}, {10498, 4348}, {7568, 0},  {3686, -8900},
                                              {}, {-2463, 5946}, {-3135, 0}, {-2088, -865}};

// The factors of the passes: instruction sets that multiply by a lane keep these in four vectors.
inline constexpr std::int16_t kFactors[32] = {
    k0541,         k0541 - k1847, k0541 + k0765, k1175 - k1961, k1175,        k1175 - k0390,
    k0298 - k0899, -k0899,        k1501 - k0899, k2053 - k2562, -k2562,       k3072 - k2562,
    kMeans[1][0],  kMeans[2][0],  kMeans[3][0],  kMeans[5][0],  kMeans[6][0], kMeans[7][0],
    kMeans[1][1],  kMeans[3][1],  kMeans[5][1],  kMeans[7][1],  k1000,        -k1000,
    k1306,         -k1306};

// Shuffles that spread consecutive bytes to the places of a mask's ones. By mask: for each of eight
// places, the number of the byte that goes there, or 0x80, which a shuffle turns into zero.
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
