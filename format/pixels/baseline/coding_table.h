// Huffman tables for coding (T.81, Annex C and F.1.2): one look-up gives a coefficient's code with
// its value behind it.
#pragma once

#include <cstdint>

#include "format/pixels/baseline/huffman.h"

namespace sluice::baseline {

// Bits to be written: their number in the low six bits, above them the bits themselves. No code
// with its value has more than 26.
using CodeWord = std::uint32_t;

inline constexpr int kWordLengthBits = 6;
inline constexpr CodeWord kWordLength = (1U << kWordLengthBits) - 1;

// Values from -kSmallValues to kSmallValues - 1 have words of their own.
inline constexpr std::int32_t kSmallValues = 64;

struct CodingTable {
  CodeWord dc[16] = {};                       // by size category; zeros where the value's bits go
  CodeWord ac[16 * 16] = {};                  // by run * 16 + size category; the same
  CodeWord zeros = 0, end = 0;                // sixteen zeros; the end of a block
  CodeWord small[16][2 * kSmallValues] = {};  // by run and value + kSmallValues
};

// For the standard's tables (standard_tables.h); built once in the process.
const CodingTable& StandardCodingTable(std::size_t number);

}  // namespace sluice::baseline
