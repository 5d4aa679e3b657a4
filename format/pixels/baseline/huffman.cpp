// The tables for decoding build on one another. BuildCodes() checks a file's table and makes
// `codes`; BuildLookUps() and BuildSkips() then combine several symbols into one look-up. Codes
// longer than kSkipBits are not in `codes`: CodeAt() finds their length by the limits of each
// length.
// A look-up that does not resolve its bits is not an error: the decoder then calls SlowDc() or
// SlowAc(), and only a 0 from those means invalid codes.
// The standard's tables are not written out here. libjpeg sets them for every picture that it is to
// write, so they are taken from it once; the tables for coding are made of them.
#include "format/pixels/baseline/huffman.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "format/pixels/libjpeg.h"

namespace sluice::baseline {

namespace {

// The largest size categories that 8-bit samples need. A larger AC value would also make a symbol
// of more than the 26 bits that ResolveAc() knows, since a code has up to 16.
constexpr std::uint32_t kMaxDcSize = 11;
constexpr std::uint32_t kMaxAcSize = 10;

constexpr DcEntry MakeDcEntry(std::uint32_t length, std::uint32_t size) noexcept {
  return (length + size) | length << 8 | size << 16;
}

bool SymbolIsSound(std::uint8_t symbol, bool ac) noexcept {
  if (!ac) return symbol <= kMaxDcSize;
  const std::uint32_t size = symbol & 15;
  return size <= kMaxAcSize && (size != 0 || symbol == 0 || symbol == 0xF0);
}

// The AC symbol at the top of `bits`, of which the top `known` bits are known. Length 0 if they do
// not hold its whole code and, for a nonzero value, the value's sign.
PairSymbol SymbolAt(const HuffmanTable& table, std::uint64_t bits, std::uint32_t known) noexcept {
  const HuffmanTable::Code code = table.codes[bits >> (64 - kSkipBits)];
  const std::uint32_t size = code.symbol & 15U;
  if (code.length == 0 || code.length + (size > 0 ? 1U : 0U) > known) return {};
  const std::uint32_t length = code.length + size;
  // Unknown bits are zero here, and a zero adds nothing to a value whose sign is known.
  return {length, AdvanceOfSymbol(code.symbol), ValueOf(ResolveAc(code.symbol, code.length, bits)),
          length > known ? length - known : 0};
}

void BuildPairs(HuffmanTable& table) noexcept {
  for (std::uint32_t index = 0; index < (1U << kPairBits); ++index) {
    const std::uint64_t bits = std::uint64_t{index} << (64 - kPairBits);
    const PairSymbol first = SymbolAt(table, bits, kPairBits);
    if (first.length == 0 || first.length > kMaxPairLength) {
      table.pair[index] = kNoPair;
      continue;
    }
    PairSymbol second;
    if (first.advance < kEndOfBlock && first.length < kPairBits) {
      // A pair has room for the missing bits of one value only, and for a second value of one byte.
      second = SymbolAt(table, bits << first.length, kPairBits - first.length);
      if (second.late != 0 || second.value != static_cast<std::int8_t>(second.value)) second = {};
    }
    table.pair[index] = MakePair(first, second);
  }
}

}  // namespace

bool SameSpec(const HuffmanSpec& a, const HuffmanSpec& b) noexcept {
  return a.symbol_count == b.symbol_count &&
         std::memcmp(a.counts, b.counts, sizeof(a.counts)) == 0 &&
         std::memcmp(a.symbols, b.symbols, a.symbol_count) == 0;
}

HuffmanTable::Code HuffmanTable::CodeAt(std::uint64_t bits) const noexcept {
  const Code known = codes[bits >> (64 - kSkipBits)];
  if (known.length != 0) return known;
  const auto top = static_cast<std::uint32_t>(bits >> 48);
  std::uint32_t length = kSkipBits + 1;
  while (length <= 16 && top >= limit[length])
    ++length;
  if (length > 16) return {};
  const auto code = static_cast<std::int32_t>(top >> (16 - length));
  const std::int32_t index = code + offset[length];
  return {static_cast<std::uint8_t>(length), symbols[index & 255]};
}

Entry HuffmanTable::SlowAc(std::uint64_t bits) const noexcept {
  const Code code = CodeAt(bits);
  return code.length == 0 ? 0 : ResolveAc(code.symbol, code.length, bits);
}

DcEntry HuffmanTable::SlowDc(std::uint64_t bits) const noexcept {
  const Code code = CodeAt(bits);
  return code.length == 0 ? 0 : MakeDcEntry(code.length, code.symbol);
}

void BuildSkips(HuffmanTable& table) noexcept {
  for (std::uint32_t index = 0; index < (1U << kSkipBits); ++index) {
    std::uint32_t length = 0;
    std::uint32_t advance = 0;
    while (length < kSkipBits && advance < kEndOfBlock) {
      const HuffmanTable::Code code = table.codes[(index << length) & ((1U << kSkipBits) - 1)];
      if (code.length == 0 || length + code.length > kSkipBits) break;
      const std::uint32_t symbol_length = code.length + (code.symbol & 15U);
      const std::uint32_t step = AdvanceOfSymbol(code.symbol);
      // Apart from an end of block (128), a skip advances by 62 at most. From inside a block, it
      // then leads to less than 128, so SkipBlock() (entropy.inc.h) can tell the two apart.
      if (length + symbol_length > kMaxSkipLength || (advance + step) % kEndOfBlock > 62) break;
      length += symbol_length;
      advance += step;
    }
    table.skip[index] = length == 0 ? kNoSkip : static_cast<Skip>(length | advance << 8);
  }
}

bool BuildCodes(const HuffmanSpec& spec, bool ac, HuffmanTable& table) noexcept {
  std::memcpy(table.symbols, spec.symbols, sizeof(table.symbols));
  static_assert(kSkipBits >= kDcBits);
  std::fill(std::begin(table.codes), std::end(table.codes), HuffmanTable::Code{});
  std::uint32_t code = 0;
  std::uint32_t index = 0;
  table.limit[0] = 0;
  for (std::uint32_t length = 1; length <= 16; ++length) {
    table.offset[length] = static_cast<std::int32_t>(index) - static_cast<std::int32_t>(code);
    for (std::uint32_t i = 0; i < spec.counts[length - 1]; ++i, ++code, ++index) {
      // The code of all ones is reserved; more codes than a length has room for are oversubscribed.
      if (code + 1 >= (1U << length) || index >= spec.symbol_count ||
          !SymbolIsSound(spec.symbols[index], ac)) {
        return false;
      }
      if (length > kSkipBits) continue;
      const std::uint32_t first = code << (kSkipBits - length);
      std::fill_n(table.codes + first, 1U << (kSkipBits - length),
                  HuffmanTable::Code{static_cast<std::uint8_t>(length), spec.symbols[index]});
    }
    // The first 16 bits from which on codes are longer than this length: CodeAt() compares with it.
    table.limit[length] = code << (16 - length);
    code <<= 1;
  }
  return true;
}

void BuildLookUps(bool ac, HuffmanTable& table) noexcept {
  if (ac) {
    BuildPairs(table);
    return;
  }
  for (std::uint32_t i = 0; i < (1U << kDcBits); ++i) {
    const HuffmanTable::Code known = table.codes[i << (kSkipBits - kDcBits)];
    table.dc[i] =
        known.length != 0 && known.length <= kDcBits ? MakeDcEntry(known.length, known.symbol) : 0;
  }
}

namespace {

HuffmanSpec SpecOf(const JHUFF_TBL& from) {
  HuffmanSpec spec;
  std::copy_n(from.bits + 1, std::size(spec.counts), spec.counts);
  for (const std::uint8_t count : spec.counts)
    spec.symbol_count += count;
  std::copy_n(from.huffval, spec.symbol_count, spec.symbols);
  return spec;
}

constexpr int kUnscaled = 50;  // the quality at which libjpeg's rule leaves the steps alone

// libjpeg has the standard's tables, and gives them to each picture that it is to write.
struct Standard {
  HuffmanSpec spec[2][kStandardTables];  // [0] DC, [1] AC
  std::int32_t steps[kStandardTables][64];

  Standard() {
    jpeg_compress_struct object{};
    libjpeg::ErrorTrap trap{};
    object.err = libjpeg::Set(trap);
    if (setjmp(trap.jump) != 0) {  // libjpeg can only have run out of memory
      jpeg_destroy_compress(&object);
      throw std::bad_alloc();
    }
    jpeg_create_compress(&object);
    object.input_components = 3;
    object.in_color_space = JCS_YCbCr;
    jpeg_set_defaults(&object);
    jpeg_set_quality(&object, kUnscaled, TRUE);
    for (std::size_t i = 0; i < kStandardTables; ++i) {
      spec[0][i] = SpecOf(*object.dc_huff_tbl_ptrs[i]);
      spec[1][i] = SpecOf(*object.ac_huff_tbl_ptrs[i]);
      std::copy_n(object.quant_tbl_ptrs[i]->quantval, 64, steps[i]);
    }
    jpeg_destroy_compress(&object);
  }
};

const Standard& TheStandard() {
  static const Standard standard;
  return standard;
}

}  // namespace

const HuffmanSpec& StandardSpec(std::size_t number, bool ac) {
  return TheStandard().spec[ac ? 1 : 0][number];
}

std::size_t StandardNumber(const HuffmanSpec& spec, bool ac) {
  std::size_t number = 0;
  while (number < kStandardTables && !SameSpec(spec, StandardSpec(number, ac)))
    ++number;
  return number;
}

void StandardSteps(std::size_t number, int quality, std::int16_t* steps) {
  // libjpeg's rule (jpeg_quality_scaling), so that a quality means the same as everywhere.
  const int percent = quality < kUnscaled ? 5000 / quality : 200 - 2 * quality;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::int32_t step = (TheStandard().steps[number][i] * percent + 50) / 100;
    steps[i] = static_cast<std::int16_t>(std::clamp(step, 1, 255));
  }
}

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

// The word of a value: the code of its size category, then the value's bits. Table F.2 of T.81: a
// negative value's bits are those of value - 1.
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
        for (std::int32_t value = -kMaxSmall; value <= kMaxSmall; ++value)
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
