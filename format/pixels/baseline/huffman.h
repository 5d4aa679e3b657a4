// Huffman tables of JPEG, built for decoding several things in one look-up (ITU-T T.81, Annex C and
// F).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::baseline {

// A DC symbol: low to high, its bits together with those of the difference that follows (8), its
// code's bits (8), the difference's (8). 0: not resolved by the kDcBits bits of a look-up, see
// HuffmanTable::SlowDc.
using DcEntry = std::uint32_t;

inline constexpr int kDcBits = 10;

// An AC symbol with its value, low to high: bits to consume (8), coefficients to advance by (8),
// value (16, signed).
using Entry = std::uint32_t;

inline constexpr int kSkipBits = 12;
// End of block: an advance that leads beyond any position a run could reach.
inline constexpr std::uint32_t kEndOfBlock = 128;

// Inlined always: a copy compiled for newer instructions must not end up in code for older ones.
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

// What a look-up of kPairBits bits yields: two AC symbols with their values; or one, of which the
// last bits of the value may lie behind the look-up's. Low to high: bits of both (8), advance of
// the first (8) and the second (8), the second's value (8), the first's (16), where its late bits
// lie: how far above the lowest of the 64 bits that the look-up was the top of (8), and how many
// (8). A value is the sum of what stands here and its late bits. Where there is no second symbol
// its advance is 0; it is to be written before the first, which then takes its place. The bits to
// consume lie lowest since everything waits for them: shift instructions look at six bits alone.
using Pair = std::uint64_t;

inline constexpr int kPairBits = 10;
// A symbol that takes more bits is not resolved: four look-ups fit into 56 bits.
inline constexpr std::uint32_t kMaxPairLength = 14;
// Not resolved: an advance that leads out of any block, so that the check for the end of a block
// finds this case too.
inline constexpr Pair kNoPair = 192 << 8;

// One of a pair's symbols.
struct PairSymbol {
  std::uint32_t length = 0, advance = 0;
  std::int32_t value = 0;
  std::uint32_t late = 0;  // bits of its value behind the look-up
};

constexpr Pair MakePair(const PairSymbol& first, const PairSymbol& second) noexcept {
  const std::uint32_t late_at = first.late == 0 ? 0 : 64 - kPairBits - first.late;
  return (first.length + second.length) | first.advance << 8 | second.advance << 16 |
         std::uint64_t{static_cast<std::uint8_t>(second.value)} << 24 |
         std::uint64_t{static_cast<std::uint16_t>(first.value)} << 32 |
         std::uint64_t{late_at | first.late << 8} << 48;
}

// As many whole AC symbols as their codes can be seen in kSkipBits, for coefficients nobody wants.
// Low to high: their bits, those of their values included (8), and what they advance by (8).
using Skip = std::uint16_t;

// A run of symbols that takes more bits is cut short: three look-ups fit into 56 bits.
inline constexpr std::uint32_t kMaxSkipLength = 18;
inline constexpr Skip kNoSkip = 64 << 8;  // not resolved; leads out of any block, too

// A size category's bits to a value: Annex F.2.2.1, EXTEND. `size` > 0.
[[gnu::always_inline]] constexpr std::int32_t Extend(std::uint32_t bits,
                                                     std::uint32_t size) noexcept {
  return (bits >> (size - 1)) != 0 ? static_cast<std::int32_t>(bits)
                                   : static_cast<std::int32_t>(bits) - (1 << size) + 1;
}

// The table as it stands in a file: codes of each length, and the symbols in the order of their
// codes.
struct HuffmanSpec {
  std::uint8_t counts[16] = {};
  std::uint8_t symbols[256] = {};
  std::uint32_t symbol_count = 0;
};

struct HuffmanTable {
  alignas(64) DcEntry dc[1 << kDcBits];   // DC tables only
  alignas(64) Pair pair[1 << kPairBits];  // AC tables only
  alignas(64) Skip skip[1 << kSkipBits];  // AC tables only
  // The code that kSkipBits bits begin with; length 0 where it is longer.
  struct Code {
    std::uint8_t length = 0;
    std::uint8_t symbol = 0;
  };
  alignas(64) Code codes[1 << kSkipBits];
  // Longer codes: the first code of each length, left-aligned in 16 bits, and where
  // its symbols begin.
  std::uint32_t
      limit[18];  // exclusive upper end of the codes of length <= l, left-aligned in 16 bits
  std::int32_t offset[17];  // symbol index of a code c of length l is c + offset[l]
  std::uint8_t symbols[256];

  // The code that the next bits (left-aligned) begin with; length 0 where none fits.
  Code CodeAt(std::uint64_t bits) const noexcept;
  // The symbol that they begin with; 0 where no code fits.
  Entry SlowAc(std::uint64_t bits) const noexcept;
  DcEntry SlowDc(std::uint64_t bits) const noexcept;
};

// What an AC symbol moves by in its block.
[[gnu::always_inline]] constexpr std::uint32_t AdvanceOfSymbol(std::uint8_t symbol) noexcept {
  return symbol == 0 ? kEndOfBlock : (symbol >> 4) + 1U;
}

// The AC symbol of a code of `length` bits at the top of `bits`, 26 of which are known.
[[gnu::always_inline]] constexpr Entry ResolveAc(std::uint8_t symbol, std::uint32_t length,
                                                 std::uint64_t bits) noexcept {
  const std::uint32_t size = symbol & 15;
  std::int32_t value = 0;
  if (size > 0) value = Extend(static_cast<std::uint32_t>((bits << length) >> (64 - size)), size);
  return MakeEntry(length + size, AdvanceOfSymbol(symbol), value);
}

// False if the codes are oversubscribed, or a symbol is none that 8-bit baseline coding has.
bool BuildTable(const HuffmanSpec& spec, bool ac, HuffmanTable& table) noexcept;

}  // namespace sluice::baseline
