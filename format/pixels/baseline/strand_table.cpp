#include "format/pixels/baseline/strand_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <iterator>
#include <span>
#include <vector>

namespace sluice::baseline {

namespace {

constexpr std::uint32_t kMaxValues = std::size(StrandValues{}.value);
constexpr std::uint32_t kMaxPlaces = 63;  // an entry that reaches further is never taken

// Takes symbols from the bits of a look-up, one after another, while an entry can hold what they
// say.
class EntryMaker {
 public:
  EntryMaker(const StrandTable& table, std::uint32_t index)
      : table_(table),
        prefix_(table.prefix()),
        known_(kStrandBits + prefix_),
        bits_(~(~std::uint64_t{0} >> prefix_) | std::uint64_t{index} << (64 - known_)) {
    bool more = table.place == kFirst ? TakeDc() : TakeAc();
    while (more && !ended_ && late_ == 0)
      more = TakeAc();
  }

  StrandEntry Entry() const noexcept {
    StrandEntry entry = {};
    const auto go_to = [&](int place) {
      entry.next = static_cast<std::int8_t>((place - table_.place) * int{sizeof(void*)});
    };
    if (length_ == 0 && table_.place == kRest && ~bits_ >> (64 - kLongPrefix) == 0) {
      entry.length = kLongPrefix;
      go_to(kLongCodes);
      return entry;
    }
    if (length_ == 0) {
      entry.reach = kBlockBytes;
      return entry;
    }
    const auto bytes = [](std::uint32_t places) { return static_cast<std::uint8_t>(2 * places); };
    entry.length = static_cast<std::uint8_t>(length_ - prefix_);
    entry.reach = bytes(places_);
    entry.offset = bytes(first_value_);
    entry.end = ended_ ? kBlockBytes - 1 : 0;
    entry.advance = ended_ ? 1 : bytes(places_);
    go_to(ended_ ? kBlockTables : kRest);
    return entry;
  }

  StrandValues Values() const noexcept {
    StrandValues values = {};
    std::copy(std::begin(values_), std::end(values_), values.value);
    if (late_ != 0) {
      values.late = static_cast<std::uint16_t>((64 - kStrandBits - late_) | late_ << 8);
    }
    return values;
  }

 private:
  // Bits of the look-up that no symbol has taken yet.
  std::uint32_t left() const noexcept { return length_ < known_ ? known_ - length_ : 0; }

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
    if (length_ + length > kMaxStrandLength + prefix_ || places_ + places > kMaxPlaces) {
      return false;
    }
    length_ += length;
    places_ += places;
    return true;
  }

  bool TakeValue(std::uint32_t code_length, std::uint32_t run, std::uint32_t size) {
    const std::uint32_t place = places_ + run;
    if (has_value_ && place - first_value_ >= kMaxValues) return false;
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
    values_[place - first_value_] = static_cast<std::int16_t>(
        size == 0 ? 0 : Extend(static_cast<std::uint32_t>(value_bits >> (64 - size)), size));
    return true;
  }

  const StrandTable& table_;
  const std::uint32_t prefix_, known_;  // bits
  const std::uint64_t bits_;
  std::uint32_t length_ = 0;       // of the symbols taken
  std::uint32_t places_ = 0;       // coefficients that they stand for
  std::uint32_t first_value_ = 0;  // the place of the first value
  std::uint32_t late_ = 0;
  bool has_value_ = false, ended_ = false;
  std::int16_t values_[kMaxValues] = {};
};

// An entry whose values are to get a place.
struct Use {
  StrandTable* table;
  StrandEntry* entry;
  StrandValues values;
};

void Build(const HuffmanTable& dc, const HuffmanTable& ac, bool wanted, BlockTables& block,
           std::vector<Use>& uses) {
  for (const BlockTable place : {kFirst, kRest, kLongCodes}) {
    StrandTable& table = block.of[place];
    table.dc = &dc;
    table.ac = &ac;
    table.wanted = wanted;
    table.place = place;
    for (std::uint32_t index = 0; index < std::size(table.entry); ++index) {
      const EntryMaker maker(table, index);
      table.entry[index] = maker.Entry();
      uses.push_back({&table, &table.entry[index], maker.Values()});
    }
  }
}

auto KeyOf(const Use& use) noexcept {
  return std::bit_cast<std::array<std::uint64_t, 2>>(use.values);
}

// Gives equal values one place. Those of the most entries come first, so that few cache lines hold
// what is needed often: a table's entries are taken about as often as each other.
void PlaceValues(std::vector<Use>& uses, std::span<StrandValues> places) {
  std::sort(uses.begin(), uses.end(),
            [](const Use& a, const Use& b) { return KeyOf(a) < KeyOf(b); });
  std::vector<std::span<const Use>> groups;
  for (auto begin = uses.cbegin(); begin != uses.cend();) {
    const auto end = std::find_if(begin, uses.cend(),
                                  [&](const Use& use) { return KeyOf(use) != KeyOf(*begin); });
    groups.emplace_back(begin, end);
    begin = end;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  assert(groups.size() <= places.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    places[i] = groups[i].front().values;
    for (const Use& use : groups[i]) {
      const std::size_t bytes = reinterpret_cast<std::uintptr_t>(&places[i]) -
                                reinterpret_cast<std::uintptr_t>(use.table);
      use.entry->values = static_cast<std::uint16_t>(bytes / kValuesUnit);
    }
  }
}

struct StandardTables {
  HuffmanTable dc[kStandardTables], ac[kStandardTables];
  StrandTables strands[kStandardTables];
  StrandValues values[1 << 11];  // behind the tables

  StandardTables() {
    std::vector<Use> uses;
    for (std::size_t i = 0; i < kStandardTables; ++i) {
      BuildTable(StandardSpec(i, false), false, dc[i]);
      BuildTable(StandardSpec(i, true), true, ac[i]);
      Build(dc[i], ac[i], true, strands[i].wanted, uses);
      Build(dc[i], ac[i], false, strands[i].skipped, uses);
    }
    PlaceValues(uses, values);
    static_assert(sizeof(strands) + sizeof(values) <= std::size_t{UINT16_MAX} * kValuesUnit);
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
