#include "format/pixels/baseline/coding_table.h"

#include <bit>
#include <cstdlib>

#include "format/pixels/baseline/standard_tables.h"

namespace sluice::baseline {

namespace {

// Each symbol's code, followed by as many zeros as its value has bits.
void SetWords(const HuffmanSpec& spec, CodeWord* words) {
  std::uint32_t code = 0;
  std::uint32_t index = 0;
  for (std::uint32_t length = 1; length <= 16; ++length, code <<= 1) {
    for (std::uint32_t i = 0; i < spec.counts[length - 1]; ++i, ++code, ++index) {
      const std::uint8_t symbol = spec.symbols[index];
      const std::uint32_t size = symbol & 15;
      words[symbol] = (code << size) << kWordLengthBits | (length + size);
    }
  }
}

// With its bits behind the code of its size category. Table F.2 of T.81: a negative value's bits
// are those of value - 1.
CodeWord WordOf(const CodeWord* by_size, std::int32_t value) {
  const int size = std::bit_width(static_cast<std::uint32_t>(std::abs(value)));
  const auto bits = static_cast<std::uint32_t>(value < 0 ? value - 1 : value) & ((1U << size) - 1);
  return by_size[size] | bits << kWordLengthBits;
}

struct Tables {
  CodeWord word[kStandardTables * kCodingWords] = {};

  Tables() {
    for (std::size_t i = 0; i < kStandardTables; ++i) {
      CodeWord* const words = word + i * kCodingWords;
      CodeWord dc[256] = {};
      SetWords(StandardSpec(i, false), dc);
      for (std::int32_t value = -2047; value <= 2047; ++value)
        words[kDifferenceWords + static_cast<std::size_t>(value)] = WordOf(dc, value);
      CodeWord* const ac = words + kLargeWords;
      SetWords(StandardSpec(i, true), ac);
      for (std::size_t run = 0; run < 16; ++run) {
        for (std::int32_t value = -kMostSmall; value <= kMostSmall; ++value)
          words[static_cast<std::size_t>(value & 255) * 16 + run] = WordOf(ac + run * 16, value);
      }
      words[kEndWord] = ac[0x00];
      words[kNoWord] = 0;
      words[kZerosWord] = ac[0xF0];
    }
  }
};

}  // namespace

const CodeWord* StandardCodingTable(std::size_t number) {
  static const Tables tables;
  return tables.word + number * kCodingWords;
}

}  // namespace sluice::baseline
