#include "format/pixels/baseline/huffman.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace sluice::baseline {

namespace {

// The largest size categories that 8-bit samples need. Larger ones would also break the bit
// reader's promise that two symbols fit into 56 bits.
constexpr std::uint32_t kMaxDcSize = 11;
constexpr std::uint32_t kMaxAcSize = 10;

bool SymbolIsSound(std::uint8_t symbol, bool ac) noexcept {
  if (!ac) return symbol <= kMaxDcSize;
  const std::uint32_t size = symbol & 15;
  return size <= kMaxAcSize && (size != 0 || symbol == 0 || symbol == 0xF0);
}

void BuildSkip(HuffmanTable& table) noexcept {
  for (std::uint32_t index = 0; index < (1U << kSkipBits); ++index) {
    std::uint32_t length = 0;
    std::uint32_t advance = 0;
    while (length < kSkipBits && advance < kEndOfBlock) {
      const HuffmanTable::Code code = table.codes[(index << length) & ((1U << kSkipBits) - 1)];
      if (code.length == 0 || length + code.length > kSkipBits) break;
      const std::uint32_t symbol_length = code.length + (code.symbol & 15U);
      const std::uint32_t step = AdvanceOfSymbol(code.symbol, true);
      if (length + symbol_length > kMaxSkipLength || (advance + step) % kEndOfBlock > 62) break;
      length += symbol_length;
      advance += step;
    }
    table.skip[index] = length == 0 ? kNoSkip : static_cast<Skip>(length | advance << 8);
  }
}

// The symbol that the top bits of `bits` hold whole, its value included; 0 if `known` of them are
// too few.
Entry ResolveWithin(const HuffmanTable& table, std::uint64_t bits, std::uint32_t known) noexcept {
  const HuffmanTable::Code code = table.codes[bits >> (64 - kSkipBits)];
  if (code.length == 0 || code.length + (code.symbol & 15U) > known) return 0;
  return Resolve(code.symbol, code.length, bits, table.ac);
}

void BuildPairs(HuffmanTable& table) noexcept {
  for (std::uint32_t index = 0; index < (1U << kPairBits); ++index) {
    const std::uint64_t bits = std::uint64_t{index} << (64 - kPairBits);
    const Entry first = ResolveWithin(table, bits, kPairBits);
    if (first == 0) {
      table.pair[index] = kNoPair;
      continue;
    }
    const std::uint32_t length = LengthOf(first);
    const std::uint32_t advance = AdvanceOf(first);
    const Entry second = advance >= kEndOfBlock || length == kPairBits
                             ? 0
                             : ResolveWithin(table, bits << length, kPairBits - length);
    table.pair[index] = second == 0
                            ? MakePair(length, length, advance, 0, ValueOf(first), ValueOf(first))
                            : MakePair(length, length + LengthOf(second), advance,
                                       AdvanceOf(second), ValueOf(first), ValueOf(second));
  }
}

}  // namespace

Entry HuffmanTable::Slow(std::uint64_t bits) const noexcept {
  const Code known = codes[bits >> (64 - kSkipBits)];
  if (known.length != 0) return Resolve(known.symbol, known.length, bits, ac);
  const auto top = static_cast<std::uint32_t>(bits >> 48);
  std::uint32_t length = kSkipBits + 1;
  while (length <= 16 && top >= limit[length])
    ++length;
  if (length > 16) return 0;
  const auto code = static_cast<std::int32_t>(top >> (16 - length));
  const std::int32_t index = code + offset[length];
  return Resolve(symbols[index & 255], length, bits, ac);
}

bool BuildTable(const HuffmanSpec& spec, bool ac, HuffmanTable& table) noexcept {
  table.ac = ac;
  std::memcpy(table.symbols, spec.symbols, sizeof(table.symbols));
  static_assert(kSkipBits >= kLookBits);
  std::fill(std::begin(table.codes), std::end(table.codes), HuffmanTable::Code{});
  std::uint32_t code = 0;
  std::uint32_t index = 0;
  table.limit[0] = 0;
  for (std::uint32_t length = 1; length <= 16; ++length) {
    table.offset[length] = static_cast<std::int32_t>(index) - static_cast<std::int32_t>(code);
    for (std::uint32_t i = 0; i < spec.counts[length - 1]; ++i, ++code, ++index) {
      // The code of all ones is reserved; more codes than there is room for are oversubscribed.
      if (code + 1 >= (1U << length) || index >= spec.symbol_count ||
          !SymbolIsSound(spec.symbols[index], ac)) {
        return false;
      }
      if (length > kSkipBits) continue;
      const std::uint32_t first = code << (kSkipBits - length);
      std::fill_n(table.codes + first, 1U << (kSkipBits - length),
                  HuffmanTable::Code{static_cast<std::uint8_t>(length), spec.symbols[index]});
    }
    table.limit[length] = code << (16 - length);
    code <<= 1;
  }
  if (ac) {
    BuildSkip(table);
    BuildPairs(table);
  } else {
    for (std::uint32_t i = 0; i < (1U << kLookBits); ++i) {
      table.look[i] = ResolveWithin(table, std::uint64_t{i} << (64 - kLookBits), kLookBits);
    }
  }
  return true;
}

}  // namespace sluice::baseline
