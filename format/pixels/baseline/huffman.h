// Huffman tables of JPEG, built so that one look-up decodes several things (ITU-T T.81, Annex C and
// F).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::baseline {

// A DC symbol. From the low bits up: length of the code and of the difference that follows it (8
// bits), length of the code (8), length of the difference (8). 0: the kDcBits bits of a look-up do
// not resolve it; see HuffmanTable::SlowDc.
using DcEntry = std::uint32_t;

inline constexpr int kDcBits = 10;

// An AC symbol with its value. From the low bits up: number of bits to consume (8 bits), number of
// coefficients to advance by (8 bits), value (16 bits, signed).
using Entry = std::uint32_t;

inline constexpr int kSkipBits = 12;
// End of block: an advance that leads beyond any position a run could reach.
inline constexpr std::uint32_t kEndOfBlock = 128;

// Always inlined: a copy compiled for newer instructions must not end up in code for older ones.
[[gnu::always_inline]] constexpr std::uint32_t LengthOf(Entry entry) noexcept {
  return entry & 255;
}
[[gnu::always_inline]] constexpr std::uint32_t AdvanceOf(Entry entry) noexcept {
  return (entry >> 8) & 255;
}
[[gnu::always_inline]] constexpr std::int32_t ValueOf(Entry entry) noexcept {
  return static_cast<std::int32_t>(entry) >> 16;
}
[[gnu::always_inline]] constexpr Entry MakeEntry(std::uint32_t length, std::uint32_t advance,
                                                 std::int32_t value) noexcept {
  return length | advance << 8 | static_cast<std::uint32_t>(value) << 16;
}

// The result of a look-up of kPairBits bits: two AC symbols with their values, or one symbol. The
// last bits of a lone symbol's value may come after the bits looked up; they are its late bits.
//
// From the low bits up, with the width of each part in brackets: number of bits of both symbols
// (8), advance of the first (8) and of the second (8), the second's value (8), the first's value
// (16), the position of its late bits (8) and their number (8). The position is that of their
// lowest bit in the 64-bit word whose top kPairBits bits were looked up; bit 0 is the lowest. A
// value is the sum of the number stored here and its late bits.
//
// Where a second symbol is missing, its advance is 0: write the second value before the first,
// which then overwrites it. The number of bits to consume comes lowest, because the next look-up
// waits for it: a shift instruction uses only the low six bits of its count, so it takes the whole
// pair as the count.
using Pair = std::uint64_t;

inline constexpr int kPairBits = 10;
// A symbol with more bits is not resolved: four look-ups must fit into 56 bits.
inline constexpr std::uint32_t kMaxPairLength = 14;
// Stands for "not resolved". Its advance leads out of any block, so that the check for the end of a
// block finds this case as well.
inline constexpr Pair kNoPair = 192 << 8;

// One of a pair's symbols.
struct PairSymbol {
  std::uint32_t length = 0, advance = 0;
  std::int32_t value = 0;
  std::uint32_t late = 0;  // bits of its value that come after the look-up
};

constexpr Pair MakePair(const PairSymbol& first, const PairSymbol& second) noexcept {
  const std::uint32_t late_at = first.late == 0 ? 0 : 64 - kPairBits - first.late;
  return (first.length + second.length) | first.advance << 8 | second.advance << 16 |
         std::uint64_t{static_cast<std::uint8_t>(second.value)} << 24 |
         std::uint64_t{static_cast<std::uint16_t>(first.value)} << 32 |
         std::uint64_t{late_at | first.late << 8} << 48;
}

// The result of a look-up of kSkipBits bits for coefficients that are not wanted: all AC symbols
// whose codes lie wholly within these bits. From the low bits up: the number of bits of their codes
// and values (8), and their advance (8).
using Skip = std::uint16_t;

// A run of symbols with more bits is cut short: three look-ups must fit into 56 bits.
inline constexpr std::uint32_t kMaxSkipLength = 18;
inline constexpr Skip kNoSkip = 64 << 8;  // not resolved; leads out of any block as well

// The value of `bits`, which belong to size category `size` > 0: EXTEND in Annex F.2.2.1.
[[gnu::always_inline]] constexpr std::int32_t Extend(std::uint32_t bits,
                                                     std::uint32_t size) noexcept {
  return (bits >> (size - 1)) != 0 ? static_cast<std::int32_t>(bits)
                                   : static_cast<std::int32_t>(bits) - (1 << size) + 1;
}

// The table as a file stores it: the number of codes of each length, and the symbols in the order
// of their codes.
struct HuffmanSpec {
  std::uint8_t counts[16] = {};
  std::uint8_t symbols[256] = {};
  std::uint32_t symbol_count = 0;
};

bool SameSpec(const HuffmanSpec& a, const HuffmanSpec& b) noexcept;

struct HuffmanTable {
  // BuildLookUps() makes `dc` for DC tables and `pair` for AC tables; BuildSkips() makes `skip`.
  alignas(64) DcEntry dc[1 << kDcBits];
  alignas(64) Pair pair[1 << kPairBits];
  alignas(64) Skip skip[1 << kSkipBits];
  // The code at the top of kSkipBits bits; length 0 if it is longer.
  struct Code {
    std::uint8_t length = 0;
    std::uint8_t symbol = 0;
  };
  alignas(64) Code codes[1 << kSkipBits];
  // For codes longer than kSkipBits, by length l (see CodeAt()):
  std::uint32_t
      limit[18];  // exclusive upper end of the codes of length <= l, left-aligned in 16 bits
  std::int32_t offset[17];  // symbol index of a code c of length l is c + offset[l]
  std::uint8_t symbols[256];

  // The code at the top of the next bits (left-aligned); length 0 if none matches.
  Code CodeAt(std::uint64_t bits) const noexcept;
  // The symbol at the top of these bits; 0 if no code matches.
  Entry SlowAc(std::uint64_t bits) const noexcept;
  DcEntry SlowDc(std::uint64_t bits) const noexcept;
};

// How far an AC symbol advances in its block.
[[gnu::always_inline]] constexpr std::uint32_t AdvanceOfSymbol(std::uint8_t symbol) noexcept {
  return symbol == 0 ? kEndOfBlock : (symbol >> 4) + 1U;
}

// The AC symbol of a code of `length` bits at the top of `bits`, of which 26 are known.
[[gnu::always_inline]] constexpr Entry ResolveAc(std::uint8_t symbol, std::uint32_t length,
                                                 std::uint64_t bits) noexcept {
  const std::uint32_t size = symbol & 15;
  std::int32_t value = 0;
  if (size > 0) value = Extend(static_cast<std::uint32_t>((bits << length) >> (64 - size)), size);
  return MakeEntry(length + size, AdvanceOfSymbol(symbol), value);
}

// Makes a table's codes. False if they are oversubscribed, or a symbol does not exist in 8-bit
// baseline coding.
bool BuildCodes(const HuffmanSpec& spec, bool ac, HuffmanTable& table) noexcept;

// Makes `dc` or `pair`. The codes must be made already.
void BuildLookUps(bool ac, HuffmanTable& table) noexcept;

// Makes `skip`. The codes must be made already. `skip` takes longer than all other tables, and
// a picture that is decoded whole does not need it.
void BuildSkips(HuffmanTable& table) noexcept;

// The tables that the standard gives as examples (T.81, Annex K), which nearly every encoder uses:
// 0 for luminance, 1 for chrominance.

inline constexpr std::size_t kStandardTables = 2;

const HuffmanSpec& StandardSpec(std::size_t number, bool ac);

// Which of the standard's tables this is; kStandardTables if it is none of them.
std::size_t StandardNumber(const HuffmanSpec& spec, bool ac);

// Quantisation steps in natural order, scaled to a quality of 1 to 100 by libjpeg's rule and
// clamped to the 8 bits that baseline has.
void StandardSteps(std::size_t number, int quality, std::int16_t* steps);

// Huffman tables for coding (T.81, Annex C and F.1.2): one look-up gives a coefficient's code,
// followed by its value.

// Bits to be written: their number in the low six bits, above them the bits themselves. No code
// with its value has more than 26.
using CodeWord = std::uint32_t;

inline constexpr int kWordLengthBits = 6;
inline constexpr CodeWord kWordLength = (1U << kWordLengthBits) - 1;

// The words of a table, all in one array.

// AC coefficients from -kMaxSmall to kMaxSmall after a run of up to 15 zeros, at index (value as a
// byte) * 16 + run. The indices of value 0 have no such coefficient; three of them hold the end of
// a block, a word of no bits, and sixteen zeros.
inline constexpr std::int32_t kMaxSmall = 127;
inline constexpr std::size_t kEndWord = 0, kNoWord = 1, kZerosWord = 15;
// Differences of DC coefficients, from -2047 to 2047: here is the word of difference 0.
inline constexpr std::size_t kDifferenceWords = 4096 + 2048;
// AC coefficients of any size, by run * 16 + size category, with zeros where the value's bits go.
inline constexpr std::size_t kLargeWords = 8192;
inline constexpr std::size_t kCodingWords = kLargeWords + 256;

// The words of one of the standard's tables, which lie one after another; built once in the
// process.
const CodeWord* StandardCodingTable(std::size_t number);

}  // namespace sluice::baseline
