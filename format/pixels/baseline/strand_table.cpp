// How strand tables are made, fast enough to be made for a picture.
//
// An entry holds the symbols at the top of a look-up's bits. Its first symbol is any of the Huffman
// table's (AddSymbols). The symbols that can follow in the remaining bits are the same for all
// first symbols, so they are listed once for each number of bits (MakeRests). Entries with equal
// values share them, found by a hash table, so that most of a table stays in the first cache.
//
// The standard's tables are made once in the process. A picture with tables of its own gets them
// from OwnTables, if it is so large that they save more than the 40 microseconds of making them.
#include "format/pixels/baseline/strand_table.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>

namespace sluice::baseline {

namespace {

constexpr std::uint32_t kMaxPlaces = 63;  // an entry that reaches further is never taken

// Calls take(code, length, symbol) for each code, the shortest ones first.
template <class Take>
void ForEachCode(const HuffmanSpec& spec, std::uint32_t max_length, const Take& take) {
  std::uint32_t code = 0;
  std::size_t symbol = 0;
  for (std::uint32_t length = 1; length <= std::min(max_length, 16U); ++length, code <<= 1) {
    for (std::uint32_t i = 0; i < spec.counts[length - 1]; ++i, ++code)
      take(code, length, spec.symbols[symbol++]);
  }
}

int Distance(BlockTable from, BlockTable to) noexcept {
  return (int{to} - int{from}) * int{sizeof(void*)};
}

}  // namespace

void StrandTableMaker::Begin(std::span<StrandValues> values, std::uint32_t bits) {
  assert(values.size() < kMaxValues);
  bits_ = bits;
  values_ = values;
  keys_.clear();
  std::ranges::fill(index_, std::uint16_t{0});
}

std::uint32_t StrandTableMaker::PlaceOf(std::int32_t value, std::uint32_t late,
                                        std::uint64_t rest) {
  // `rest` is 0 if there are late bits, and no byte of it is ever kNoValue: so the keys differ.
  constexpr std::uint64_t kNoValue = 0x80;
  std::uint64_t key = static_cast<std::uint16_t>(value) | rest << 16;
  if (late != 0) key |= std::uint64_t{late} << 16 | kNoValue << 56;
  std::size_t at = key * 0x9E3779B97F4A7C15U >> (64 - std::bit_width(kMaxValues - 1));
  for (; index_[at] != 0; at = (at + 1) % index_.size()) {
    if (keys_[index_[at] - 1U] == key) return index_[at];
  }
  if (keys_.size() == values_.size()) return 0;
  StrandValues& added = values_[keys_.size()];
  added = {};
  added.value[0] = static_cast<std::int16_t>(value);
  if (late == 0) {
    for (std::size_t i = 1; i < std::size(added.value); ++i)
      added.value[i] = static_cast<std::int8_t>(key >> (8 + 8 * i));
  } else {
    added.late = static_cast<std::uint16_t>((64 - bits_ - late) | late << 8);
  }
  keys_.push_back(key);
  return index_[at] = static_cast<std::uint16_t>(keys_.size());
}

// Adds a symbol, joined with each list of symbols that may follow it in `free` bits.
void StrandTableMaker::AddJoined(const Rest& symbol, std::uint32_t free, bool wanted) {
  std::uint32_t alone = 0;
  const auto add_alone = [&] {
    if (alone == 0) return;
    rests_.push_back(symbol);
    rests_.back().count = alone;
    alone = 0;
  };
  for (std::size_t i = rests_of_[free]; i < rests_of_[free + 1]; ++i) {
    const Rest rest = rests_[i];
    const std::uint32_t places = symbol.places + rest.places;
    const std::uint32_t length = symbol.length + rest.length;
    if (rest.length == 0 || places > (wanted ? kRestPlaces : kMaxPlaces) ||
        length > kMaxStrandLength) {
      alone += rest.count;
      continue;
    }
    add_alone();
    rests_.push_back({symbol.values | rest.values << (8 * symbol.places % 64),
                      static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(places),
                      rest.ended, rest.count});
  }
  add_alone();
}

void StrandTableMaker::MakeRests(const HuffmanSpec& ac, bool wanted) {
  rests_.clear();
  for (std::uint32_t bits = 0; bits < bits_; ++bits) {
    rests_of_[bits] = rests_.size();
    std::uint32_t left = 1U << bits;  // values of the bits
    ForEachCode(ac, bits, [&](std::uint32_t, std::uint32_t length, std::uint8_t symbol) {
      const std::uint32_t free = bits - length;
      const std::uint32_t size = symbol & 15;
      left -= 1U << free;
      Rest one;
      one.count = 1U << free;
      if (symbol == 0) {
        one.length = static_cast<std::uint8_t>(length);
        one.ended = true;
        rests_.push_back(one);
        return;
      }
      const std::uint32_t places = (symbol >> 4) + 1U;
      if (wanted && (size == 0 || size > free || size >= 8 || places > kRestPlaces)) {
        rests_.push_back(one);
        return;
      }
      one.length = static_cast<std::uint8_t>(length + size);
      one.places = static_cast<std::uint8_t>(places);
      if (size > free) {
        rests_.push_back(one);
        return;
      }
      for (std::uint32_t value = 0; value < 1U << size; ++value) {
        if (wanted) {
          one.values = std::uint64_t{static_cast<std::uint8_t>(Extend(value, size))}
                       << (8 * (places - 1));
        }
        AddJoined(one, free - size, wanted);
      }
    });
    if (left != 0) {
      rests_.emplace_back();
      rests_.back().count = left;
    }
  }
  rests_of_[bits_] = rests_.size();
}

StrandEntry StrandTableMaker::EntryOf(const First& first, const Rest& rest,
                                      const StrandTable& table) {
  const auto bytes = [](std::uint32_t places) { return static_cast<std::uint8_t>(2 * places); };
  const std::uint32_t places = first.places + rest.places;
  const bool ended = first.ended || rest.ended;
  const std::uint32_t place = PlaceOf(first.value, first.late, rest.values);
  StrandEntry entry = {};
  entry.reach = kBlockBytes;
  if (place == 0) return entry;
  entry.length = static_cast<std::uint8_t>(first.length + rest.length - table.prefix());
  entry.reach = bytes(places);
  entry.offset = bytes(first.run);
  entry.end = ended ? kBlockBytes - 1 : 0;
  entry.advance = ended ? 1 : bytes(places);
  entry.next = static_cast<std::int8_t>(Distance(table.place, ended ? kBlockTables : kRest));
  entry.values = static_cast<std::uint16_t>((reinterpret_cast<std::uintptr_t>(&values_[place - 1]) -
                                             reinterpret_cast<std::uintptr_t>(&table)) /
                                            kValuesUnit);
  return entry;
}

void StrandTableMaker::AddEntries(const First& first, std::uint32_t free, StrandEntry* entry,
                                  StrandTable& table) {
  if (first.ended || first.late != 0 || table.place == kLongCodes) {
    std::fill_n(entry, 1U << free, EntryOf(first, Rest{}, table));
    return;
  }
  for (const Rest& rest : RestsIn(free)) {
    const bool fits =
        first.places + rest.places <= kMaxPlaces && first.length + rest.length <= kMaxStrandLength;
    entry = std::fill_n(entry, rest.count, EntryOf(first, fits ? rest : Rest{}, table));
  }
}

void StrandTableMaker::AddSymbols(const HuffmanSpec& spec, bool dc, StrandTable& table) {
  const std::uint32_t prefix = table.prefix();
  const std::uint32_t known = bits_ + prefix;
  const std::uint32_t ones = (1U << prefix) - 1;
  ForEachCode(spec, known, [&](std::uint32_t code, std::uint32_t length, std::uint8_t symbol) {
    if (length < prefix || code >> (length - prefix) != ones) return;
    const std::uint32_t free = known - length;
    const std::uint32_t size = symbol & 15;
    StrandEntry* const to = table.entry + ((code << free) & ((1U << bits_) - 1));
    First first;
    first.length = length + size;
    if (first.length > kMaxStrandLength + prefix) return;
    // Shorter symbols are in the table kRest.
    if (prefix != 0 && length < bits_ && first.length <= kMaxStrandLength) return;
    if (!dc && symbol == 0) {
      first.ended = true;
      AddEntries(first, free, to, table);
      return;
    }
    first.run = dc ? 0 : symbol >> 4;
    first.places = first.run + 1;
    const bool valued = dc || (table.wanted && size != 0);
    const std::uint32_t value_bits = std::min(size, free);  // that are known
    const std::uint32_t late = size - value_bits;
    if (valued) {
      if (size != 0 && value_bits == 0) return;  // the sign must be known
      first.late = late;
    }
    for (std::uint32_t value = 0; value < 1U << value_bits; ++value) {
      // Late bits are zero here, and a zero adds nothing to a value whose sign is known.
      if (valued && size != 0) first.value = Extend(value << late, size);
      AddEntries(first, free - value_bits, to + (value << (free - value_bits)), table);
    }
  });
}

void StrandTableMaker::Make(const HuffmanCodes& dc, const HuffmanCodes& ac, bool wanted,
                            BlockTables& block) {
  MakeRests(*ac.spec, wanted);
  StrandEntry by_code = {};
  by_code.reach = kBlockBytes;
  for (const BlockTable place : {kFirst, kRest, kLongCodes}) {
    StrandTable& table = block.of[place];
    table.dc = dc.table;
    table.ac = ac.table;
    table.wanted = wanted;
    table.place = place;
    std::fill_n(table.entry, std::size_t{1} << bits_, by_code);
    if (place == kRest) {
      StrandEntry ones = EntryOf(First{}, Rest{}, table);  // no coefficient
      ones.length = kLongPrefix;
      ones.next = static_cast<std::int8_t>(Distance(kRest, kLongCodes));
      const std::size_t count = std::size_t{1} << (bits_ - kLongPrefix);
      std::fill_n(table.entry + (std::size_t{1} << bits_) - count, count, ones);
    }
    AddSymbols(place == kFirst ? *dc.spec : *ac.spec, place == kFirst, table);
  }
}

// The number of the tables that were made from these; count_ if they are missing.
std::size_t OwnTables::NumberOf(const Codes& codes) const noexcept {
  const auto same = [&](const Source& source) {
    return source.dc_table == codes.dc.table && source.ac_table == codes.ac.table &&
           SameSpec(source.dc, *codes.dc.spec) && SameSpec(source.ac, *codes.ac.spec);
  };
  return static_cast<std::size_t>(std::find_if(source_, source_ + count_, same) - source_);
}

void OwnTables::Make(const Codes* codes, std::uint32_t components) {
  maker_.Begin(store_->values, kBits);
  count_ = 0;
  for (const Codes* of = codes; of != codes + components; ++of) {
    if (NumberOf(*of) != count_) continue;
    maker_.Make(of->dc, of->ac, true, store_->of[count_]);
    source_[count_++] = {*of->dc.spec, *of->ac.spec, of->dc.table, of->ac.table};
  }
}

void OwnTables::Find(const Codes* codes, std::uint32_t components, StrandTables* tables) {
  if (store_ == nullptr) store_ = std::make_unique<Store>();
  const auto is_missing = [this](const Codes& of) { return NumberOf(of) == count_; };
  if (std::any_of(codes, codes + components, is_missing)) Make(codes, components);
  for (std::uint32_t c = 0; c < components; ++c) {
    const BlockTables* const found = &store_->of[NumberOf(codes[c])];
    tables[c] = {found, found, kBits};
  }
}

namespace {

struct StandardTables {
  HuffmanTable dc[kStandardTables], ac[kStandardTables];
  BlockTables wanted[kStandardTables], skipped[kStandardTables];
  StrandValues values[1 << 11];  // must lie after the tables: see StrandEntry::values

  StandardTables() {
    static_assert(sizeof(wanted) + sizeof(skipped) + sizeof(values) <=
                  std::size_t{UINT16_MAX} * kValuesUnit);
    StrandTableMaker maker;
    maker.Begin(values, kStrandBits);
    for (std::size_t i = 0; i < kStandardTables; ++i) {
      const HuffmanCodes dc_codes = {&StandardSpec(i, false), &dc[i]};
      const HuffmanCodes ac_codes = {&StandardSpec(i, true), &ac[i]};
      BuildCodes(*dc_codes.spec, false, dc[i]);
      BuildCodes(*ac_codes.spec, true, ac[i]);
      maker.Make(dc_codes, ac_codes, true, wanted[i]);
      maker.Make(dc_codes, ac_codes, false, skipped[i]);
    }
  }
};

}  // namespace

StrandTables StandardStrandTables(std::size_t number) {
  static const StandardTables tables;
  return {&tables.wanted[number], &tables.skipped[number]};
}

const StrandTable& StrandHalt() noexcept {
  static StrandTable halt;  // not const: zeros that take no room in the program's file
  return halt;
}

}  // namespace sluice::baseline
