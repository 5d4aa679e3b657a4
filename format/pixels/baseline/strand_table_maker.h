// Makes strand tables (strand_table.h) fast enough to be made for a picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "format/pixels/baseline/huffman.h"
#include "format/pixels/baseline/strand_table.h"

namespace sluice::baseline {

// A Huffman table as a file stores it, and built.
struct HuffmanCodes {
  const HuffmanSpec* spec = nullptr;
  const HuffmanTable* table = nullptr;
};

// One thread at a time.
class StrandTableMaker {
 public:
  static constexpr std::size_t kMostValues = std::size_t{1} << 13;

  // The values of the tables that follow go here: fewer than kMostValues, behind the tables and no
  // further than StrandEntry::values reaches. Where they run out, symbols are taken one by one.
  // Look-ups are of `bits` bits, up to kStrandBits.
  void Begin(std::span<StrandValues> values, std::uint32_t bits);

  // With `wanted` false, for blocks of which nothing but the DC coefficient is wanted.
  void Make(const HuffmanCodes& dc, const HuffmanCodes& ac, bool wanted, BlockTables& block);

 private:
  // AC symbols that go on in an entry, and how many values of the look-up's last bits begin with
  // them.
  struct Rest {
    std::uint64_t values = 0;  // a byte for each place, up to kMostPlaces if any is wanted
    std::uint8_t length = 0;   // bits; 0: there is no symbol
    std::uint8_t places = 0;   // coefficients that they stand for
    bool ended = false;        // the last of them is an end of block
    std::uint32_t count = 0;
  };
  // The symbol at an entry's beginning.
  struct First {
    std::uint32_t length = 0, run = 0, places = 0;
    std::int32_t value = 0;
    std::uint32_t late = 0;  // bits of its value that lie behind those looked up
    bool ended = false;
  };

  static constexpr std::uint32_t kMostPlaces = 6;

  void MakeRests(const HuffmanSpec& ac, bool wanted);
  void AddJoined(const Rest& symbol, std::uint32_t free, bool wanted);
  std::span<const Rest> RestsIn(std::uint32_t bits) const noexcept {
    return std::span(rests_).subspan(rests_of_[bits], rests_of_[bits + 1] - rests_of_[bits]);
  }
  void AddSymbols(const HuffmanSpec& spec, bool dc, StrandTable& table);
  // Entries for a symbol that leaves `free` bits of the look-up.
  void AddEntries(const First& first, std::uint32_t free, StrandEntry* entry, StrandTable& table);
  StrandEntry EntryOf(const First& first, const Rest& rest, const StrandTable& table);
  // Where these values are, counted from 1; 0 if there is no room. Equal ones share a place.
  std::uint32_t PlaceOf(std::int32_t value, std::uint32_t late, std::uint64_t rest);

  // What can follow in a look-up's last bits, in the order of these bits' values, for each number
  // of bits.
  std::vector<Rest> rests_;
  std::size_t rests_of_[kStrandBits + 1] = {};
  std::uint32_t bits_ = kStrandBits;
  std::span<StrandValues> values_;
  std::vector<std::uint64_t> keys_;  // of values_, as far as they are used
  std::vector<std::uint16_t> index_ = std::vector<std::uint16_t>(kMostValues);  // PlaceOf()'s
};

}  // namespace sluice::baseline
