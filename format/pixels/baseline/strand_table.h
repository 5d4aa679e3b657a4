// Tables for decoding a scan at several places side by side (kernels/strands.inc.h): one look-up
// gives up to seven coefficients in a row, and where in its block a strand goes on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/pixels/baseline/huffman.h"
#include "format/pixels/baseline/standard_tables.h"

namespace sluice::baseline {

// The most bits of a look-up.
inline constexpr std::uint32_t kStrandBits = 11;
// A strand takes this many look-ups from the bits of one refill, so none may use more than
// kMaxStrandLength.
inline constexpr int kStrandLookUps = 3;
inline constexpr std::uint32_t kMaxStrandLength = 56 / kStrandLookUps;

// Blocks lie one after another, 64 coefficients of 16 bits each in zigzag order, at multiples of
// kBlockBytes: the low bits of a strand's place are its place within the block.
inline constexpr std::size_t kBlockBytes = 128;

// The symbols at the top of a look-up's bits, as many as can be taken at once. Places and distances
// are in bytes, to be added to pointers as they are. An entry is small, so that most of a table
// stays in the first cache: the next look-up waits for this one.
struct StrandEntry {
  std::uint8_t length;   // bits to consume
  std::uint8_t reach;    // how far the coefficients reach; kBlockBytes: take one symbol by its code
  std::uint8_t offset;   // where the first coefficient goes
  std::uint8_t end;      // kBlockBytes - 1 after an end of block: set these bits of the place,
  std::uint8_t advance;  // then add this
  std::int8_t next;      // how far to move on in the list of tables
  std::uint16_t values;  // where its StrandValues are, from the table's start, in kValuesUnit
};
inline constexpr std::size_t kValuesUnit = 8;

// The coefficients of an entry, from its first value on. Many entries have the same.
struct alignas(16) StrandValues {
  std::int16_t value[7];
  std::uint16_t late;  // the first value's bits behind those looked up, for BitField()
};

// The tables of a block, in the order of the list of tables.
enum BlockTable : std::uint8_t {
  kFirst,      // at the beginning of the block
  kRest,       // further on in it
  kLongCodes,  // behind kLongPrefix ones, and then back to kRest
  kBlockTables
};
// Where kRest does not hold a code that begins with so many ones (11 bits of code and more), a
// look-up consumes these alone.
inline constexpr std::uint32_t kLongPrefix = 7;

struct StrandTable {
  alignas(64) StrandEntry entry[1 << kStrandBits] = {};  // by the bits of a look-up
  const HuffmanTable* dc = nullptr;                      // the codes, for what no entry holds
  const HuffmanTable* ac = nullptr;
  bool wanted = false;  // false: zeros for all but DC coefficients
  BlockTable place = kFirst;

  // So many ones before the bits looked up were consumed already. Always inlined, see huffman.h.
  [[gnu::always_inline]] std::uint32_t prefix() const noexcept {
    return place == kLongCodes ? kLongPrefix : 0;
  }
};
static_assert(alignof(StrandTable) % alignof(StrandValues) == 0);

struct BlockTables {
  StrandTable of[kBlockTables];
};

// What a component's blocks are decoded with.
struct StrandTables {
  const BlockTables* wanted = nullptr;
  // For blocks of which nothing but the DC coefficient is wanted. Those made for them take more
  // symbols at once, and give zeros for their values.
  const BlockTables* skipped = nullptr;
  std::uint32_t bits = kStrandBits;  // of a look-up
};

// Those of standard_tables.h, built once in the process.
StrandTables StandardStrandTables(std::size_t number);

// A table on which a strand stays where it is.
const StrandTable& StrandHalt() noexcept;

}  // namespace sluice::baseline
