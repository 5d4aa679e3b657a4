// Huffman tables for coding (T.81, Annex C and F.1.2): one look-up gives a coefficient's code with
// its value behind it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/pixels/baseline/huffman.h"

namespace sluice::baseline {

// Bits to be written: their number in the low six bits, above them the bits themselves. No code
// with its value has more than 26.
using CodeWord = std::uint32_t;

inline constexpr int kWordLengthBits = 6;
inline constexpr CodeWord kWordLength = (1U << kWordLengthBits) - 1;

// The words of a table, all in one array.

// AC coefficients from -kMostSmall to kMostSmall, with a run of up to 15 zeros before them: the
// value as a byte * 16 + run. In the places of zero are the end of a block, sixteen zeros, and a
// word of no bits.
inline constexpr std::int32_t kMostSmall = 127;
inline constexpr std::size_t kEndWord = 0, kNoWord = 1, kZerosWord = 15;
// Differences of DC coefficients, from -2047 to 2047, behind the word of zero.
inline constexpr std::size_t kDifferenceWords = 4096 + 2048;
// AC coefficients of any size, by run * 16 + size category: zeros where the value's bits go.
inline constexpr std::size_t kLargeWords = 8192;
inline constexpr std::size_t kCodingWords = kLargeWords + 256;

// For the standard's tables (standard_tables.h), which lie one behind another; built once in the
// process.
const CodeWord* StandardCodingTable(std::size_t number);

}  // namespace sluice::baseline
