// Tables for decoding a scan at several places side by side (kernels/strands.inc.h): one look-up
// gives up to seven coefficients in a row, and where in its block a strand continues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "format/pixels/baseline/huffman.h"

namespace sluice::baseline {

// The most bits of a look-up.
inline constexpr std::uint32_t kStrandBits = 11;
// A strand takes this many look-ups from the bits of one refill, so none may use more than
// kMaxStrandLength.
inline constexpr int kStrandLookUps = 3;
inline constexpr std::uint32_t kMaxStrandLength = 56 / kStrandLookUps;

// Blocks lie one after another, 64 coefficients of 16 bits each in zigzag order, at addresses that
// are multiples of kBlockBytes. A strand's place is the address of its next coefficient; so the
// address's low bits are the place within the block.
inline constexpr std::size_t kBlockBytes = 128;

// The symbols at the top of a look-up's bits, as many as can be taken at once. Places and distances
// are in bytes, to be added to pointers as they are. An entry is small, so that most of a table
// stays in the first cache: the next look-up waits for this one.
struct StrandEntry {
  std::uint8_t length;   // bits to consume
  std::uint8_t reach;    // how far the coefficients reach; kBlockBytes: take one symbol by its code
  std::uint8_t offset;   // where the first coefficient goes
  std::uint8_t end;      // bits to set in the place: kBlockBytes - 1 at an end of block, else 0
  std::uint8_t advance;  // to add to the place after that
  std::int8_t next;      // how far to move on in the list of tables
  std::uint16_t values;  // times kValuesUnit: bytes from the table's start to its StrandValues
};
inline constexpr std::size_t kValuesUnit = 8;

// The coefficients of an entry, from its first value on. Entries with the same coefficients share
// one.
struct alignas(16) StrandValues {
  std::int16_t value[7];
  std::uint16_t late;  // the first value's bits after those looked up, for BitField()
};

// The tables of a block, in the order of the list of tables.
enum BlockTable : std::uint8_t {
  kFirst,      // at the beginning of the block
  kRest,       // further on in it
  kLongCodes,  // after kLongPrefix ones; then back to kRest
  kBlockTables
};
// If a code begins with that many ones and kRest does not hold it (codes of 11 bits and more), a
// look-up in kRest consumes only these ones.
inline constexpr std::uint32_t kLongPrefix = 7;

struct StrandTable {
  alignas(64) StrandEntry entry[1 << kStrandBits] = {};  // by the bits of a look-up
  const HuffmanTable* dc = nullptr;                      // the codes, for what no entry holds
  const HuffmanTable* ac = nullptr;
  bool wanted = false;        // false: zeros for all but DC coefficients
  BlockTable place = kFirst;  // which of a block's tables this is

  // How many ones of the code were consumed before this look-up. Always inlined, see huffman.h.
  [[gnu::always_inline]] std::uint32_t prefix() const noexcept {
    return place == kLongCodes ? kLongPrefix : 0;
  }
};
static_assert(alignof(StrandTable) % alignof(StrandValues) == 0);

struct BlockTables {
  StrandTable of[kBlockTables];
};

// The tables that decode a component's blocks.
struct StrandTables {
  const BlockTables* wanted = nullptr;
  // The tables for blocks of which only the DC coefficient is wanted. Tables made for such blocks
  // take more symbols at once, and give zeros as AC coefficients; OwnTables puts `wanted` here.
  const BlockTables* skipped = nullptr;
  std::uint32_t bits = kStrandBits;  // of a look-up
};

// The strand tables of the standard's Huffman tables (huffman.h), built once in the process.
StrandTables StandardStrandTables(std::size_t number);

// A table on which a strand stays where it is.
const StrandTable& StrandHalt() noexcept;

// A Huffman table as a file stores it, and as BuildCodes() builds it.
struct HuffmanCodes {
  const HuffmanSpec* spec = nullptr;
  const HuffmanTable* table = nullptr;
};

// Makes strand tables, fast enough to make them for a single picture. One thread at a time.
class StrandTableMaker {
 public:
  static constexpr std::size_t kMaxValues = std::size_t{1} << 13;

  // Tables made from now on put their values into `values`: fewer than kMaxValues, which lie after
  // the tables and no further than StrandEntry::values reaches. When no room is left, entries take
  // one symbol by its code. Look-ups are of `bits` bits, up to kStrandBits.
  void Begin(std::span<StrandValues> values, std::uint32_t bits);

  // Makes a block's tables. If not `wanted`, only the block's DC coefficient is.
  void Make(const HuffmanCodes& dc, const HuffmanCodes& ac, bool wanted, BlockTables& block);

 private:
  // A list of AC symbols that may follow an entry's first symbol.
  struct Rest {
    std::uint64_t values = 0;  // a byte for each place, up to kRestPlaces; 0 if AC is not wanted
    std::uint8_t length = 0;   // bits; 0: no symbol follows
    std::uint8_t places = 0;   // coefficients that the symbols stand for
    bool ended = false;        // whether the last symbol is an end of block
    std::uint32_t count = 0;   // how many values of the look-up's last bits begin with the list
  };
  // The symbol at an entry's beginning.
  struct First {
    std::uint32_t length = 0, run = 0, places = 0;
    std::int32_t value = 0;
    std::uint32_t late = 0;  // bits of its value that come after those looked up
    bool ended = false;
  };

  static constexpr std::uint32_t kRestPlaces = 6;

  void MakeRests(const HuffmanSpec& ac, bool wanted);
  void AddJoined(const Rest& symbol, std::uint32_t free, bool wanted);
  std::span<const Rest> RestsIn(std::uint32_t bits) const noexcept {
    return std::span(rests_).subspan(rests_of_[bits], rests_of_[bits + 1] - rests_of_[bits]);
  }
  void AddSymbols(const HuffmanSpec& spec, bool dc, StrandTable& table);
  // Entries for a symbol that leaves `free` bits of the look-up.
  void AddEntries(const First& first, std::uint32_t free, StrandEntry* entry, StrandTable& table);
  StrandEntry EntryOf(const First& first, const Rest& rest, const StrandTable& table);
  // The place of these values, counted from 1, or 0 if the table is full. Equal values share one.
  std::uint32_t PlaceOf(std::int32_t value, std::uint32_t late, std::uint64_t rest);

  // For each number of last bits of a look-up: the lists of symbols that these bits can begin with,
  // in the order of the bits' values. rests_of_ says where the lists of each number of bits begin.
  std::vector<Rest> rests_;
  std::size_t rests_of_[kStrandBits + 1] = {};
  std::uint32_t bits_ = kStrandBits;
  std::span<StrandValues> values_;
  std::vector<std::uint64_t> keys_;  // the key of each of values_ that is used
  // PlaceOf()'s hash table: places in keys_, counted from 1; 0: free.
  std::vector<std::uint16_t> index_ = std::vector<std::uint16_t>(kMaxValues);
};

// Strand tables of a picture's own Huffman tables, as most programs' files have them.
//
// Keeps tables from picture to picture; one thread at a time.
class OwnTables {
 public:
  // Whether a scan of that many bytes is worth making tables for: making them takes about 40 us,
  // and decoding from three places then saves about 3.3 us a kilobyte.
  static bool Pay(std::size_t size) noexcept { return size >= std::size_t{12} << 10; }

  // The Huffman tables of a component.
  struct Codes {
    HuffmanCodes dc, ac;
  };
  // The strand tables of each component. Unwanted blocks get those of wanted ones.
  void Find(const Codes* codes, std::uint32_t components, StrandTables* tables);

 private:
  // One bit less than kStrandBits halves the time in which tables are made.
  static constexpr std::uint32_t kBits = kStrandBits - 1;
  static constexpr std::size_t kMax = 3;
  struct Store {
    BlockTables of[kMax];
    StrandValues values[1 << 12];  // must lie after the tables: see StrandEntry::values
  };
  static_assert(sizeof(Store) <= std::size_t{UINT16_MAX} * kValuesUnit);
  // The codes that tables were made from.
  struct Source {
    HuffmanSpec dc, ac;
    const HuffmanTable *dc_table = nullptr, *ac_table = nullptr;
  };

  std::size_t NumberOf(const Codes& codes) const noexcept;
  void Make(const Codes* codes, std::uint32_t components);

  std::unique_ptr<Store> store_;
  StrandTableMaker maker_;
  Source source_[kMax];    // of each of the tables in store_
  std::size_t count_ = 0;  // how many tables there are
};

}  // namespace sluice::baseline
