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

struct Tables {
  CodingTable table[kStandardTables];

  Tables() {
    for (std::size_t i = 0; i < kStandardTables; ++i) {
      CodingTable& t = table[i];
      SetWords(StandardSpec(i, false), t.dc);
      SetWords(StandardSpec(i, true), t.ac);
      t.end = t.ac[0x00];
      t.zeros = t.ac[0xF0];
      for (std::uint32_t run = 0; run < 16; ++run) {
        for (std::int32_t value = -kSmallValues; value < kSmallValues; ++value) {
          const auto size = static_cast<std::uint32_t>(
              std::bit_width(static_cast<std::uint32_t>(std::abs(value))));
          // Table F.2 of T.81: a negative value's bits are those of value - 1.
          const auto bits =
              static_cast<std::uint32_t>(value < 0 ? value - 1 : value) & ((1U << size) - 1);
          if (value == 0) continue;
          t.small[run][value + kSmallValues] = t.ac[run * 16 + size] | bits << kWordLengthBits;
        }
      }
    }
  }
};

}  // namespace

const CodingTable& StandardCodingTable(std::size_t number) {
  static const Tables tables;
  return tables.table[number];
}

}  // namespace sluice::baseline
