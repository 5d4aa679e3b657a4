#include "format/pixels/baseline/strand_table.h"

#include <algorithm>
#include <iterator>

namespace sluice::baseline {

namespace {

// Values are stored in eight bits.
constexpr std::uint32_t kMaxValueSize = 7;
constexpr std::uint32_t kMaxValues = std::size(StrandEntry{}.values);
constexpr std::uint32_t kMaxPlaces = 63;  // an entry that reaches further is never taken

// Takes symbols from the bits of a look-up, one after another, while an entry can hold what they
// say.
class EntryMaker {
 public:
  EntryMaker(const StrandTable& table, bool first, std::uint32_t index)
      : table_(table), bits_(std::uint64_t{index} << (64 - kStrandBits)) {
    bool more = first ? TakeDc() : TakeAc();
    while (more && !ended_ && late_ == 0)
      more = TakeAc();
  }

  StrandEntry Entry(bool first) const noexcept {
    StrandEntry entry = {};
    if (length_ == 0) {
      entry.reach = kBlockBytes;
      return entry;
    }
    const auto bytes = [](std::uint32_t places) { return static_cast<std::uint8_t>(2 * places); };
    entry.length = static_cast<std::uint8_t>(length_);
    entry.reach = bytes(places_);
    entry.offset = bytes(first_value_);
    entry.end = ended_ ? kBlockBytes - 1 : 0;
    entry.advance = ended_ ? 1 : bytes(places_);
    entry.next = static_cast<std::uint8_t>(sizeof(void*) * ((first ? 1U : 0U) + (ended_ ? 1 : 0)));
    if (late_ != 0) {
      entry.late = static_cast<std::uint16_t>((64 - kStrandBits - late_) | late_ << 8);
    }
    std::copy(std::begin(values_), std::end(values_), entry.values);
    return entry;
  }

 private:
  // Bits of the look-up that no symbol has taken yet.
  std::uint32_t left() const noexcept { return length_ < kStrandBits ? kStrandBits - length_ : 0; }

  bool TakeDc() {
    const HuffmanTable::Code code = table_.dc->CodeAt(bits_);
    return code.length != 0 && code.length <= left() && TakeValue(code.length, 0, code.symbol);
  }

  bool TakeAc() {
    const HuffmanTable::Code code = table_.ac->CodeAt(bits_ << length_);
    if (code.length == 0 || code.length > left()) return false;
    const std::uint32_t run = code.symbol >> 4;
    const std::uint32_t size = code.symbol & 15;
    if (code.symbol == 0) {
      ended_ = true;
      length_ += code.length;
      return true;
    }
    if (table_.wanted && size != 0) return TakeValue(code.length, run, size);
    if (has_value_ && table_.wanted) return false;
    return TakePlaces(code.length + size, run + 1);
  }

  bool TakePlaces(std::uint32_t length, std::uint32_t places) {
    if (length_ + length > kMaxStrandLength || places_ + places > kMaxPlaces) return false;
    length_ += length;
    places_ += places;
    return true;
  }

  bool TakeValue(std::uint32_t code_length, std::uint32_t run, std::uint32_t size) {
    const std::uint32_t place = places_ + run;
    if (size > kMaxValueSize || (has_value_ && place - first_value_ >= kMaxValues)) return false;
    const std::uint32_t length = code_length + size;
    const std::uint32_t hidden = length > left() ? length - left() : 0;
    // Only the first value may have late bits, and its sign must be known.
    if (hidden != 0 && (has_value_ || hidden == size)) return false;
    // Hidden bits are zero here, and a zero adds nothing to a value whose sign is known.
    const auto value_bits = bits_ << length_ << code_length;
    if (!TakePlaces(length, run + 1)) return false;
    if (!has_value_) first_value_ = place;
    has_value_ = true;
    late_ = hidden;
    values_[place - first_value_] = static_cast<std::int8_t>(
        size == 0 ? 0 : Extend(static_cast<std::uint32_t>(value_bits >> (64 - size)), size));
    return true;
  }

  const StrandTable& table_;
  std::uint64_t bits_;
  std::uint32_t length_ = 0;       // of the symbols taken
  std::uint32_t places_ = 0;       // coefficients that they stand for
  std::uint32_t first_value_ = 0;  // the place of the first value
  std::uint32_t late_ = 0;
  bool has_value_ = false, ended_ = false;
  std::int8_t values_[kMaxValues] = {};
};

void Build(const HuffmanTable& dc, const HuffmanTable& ac, bool first, bool wanted,
           StrandTable& table) {
  table.dc = &dc;
  table.ac = &ac;
  table.wanted = wanted;
  for (std::uint32_t index = 0; index < std::size(table.entry); ++index)
    table.entry[index] = EntryMaker(table, first, index).Entry(first);
}

struct StandardTables {
  HuffmanTable dc[kStandardTables], ac[kStandardTables];
  StrandTables strands[kStandardTables];

  StandardTables() {
    for (std::size_t i = 0; i < kStandardTables; ++i) {
      BuildTable(StandardSpec(i, false), false, dc[i]);
      BuildTable(StandardSpec(i, true), true, ac[i]);
      StrandTables& s = strands[i];
      Build(dc[i], ac[i], true, true, s.first);
      Build(dc[i], ac[i], false, true, s.rest);
      Build(dc[i], ac[i], true, false, s.skip_first);
      Build(dc[i], ac[i], false, false, s.skip_rest);
    }
  }
};

}  // namespace

const StrandTables& StandardStrandTables(std::size_t number) {
  static const StandardTables tables;
  return tables.strands[number];
}

const StrandTable& StrandHalt() noexcept {
  static StrandTable halt;  // not const: zeros that take no room in the program's file
  return halt;
}

}  // namespace sluice::baseline
