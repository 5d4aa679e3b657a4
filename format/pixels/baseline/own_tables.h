// Strand tables of a picture's own Huffman tables, as most programs' files have them.
#pragma once

#include <cstddef>
#include <memory>

#include "format/pixels/baseline/strand_table.h"
#include "format/pixels/baseline/strand_table_maker.h"

namespace sluice::baseline {

// Keeps tables from picture to picture; one thread at a time.
class OwnTables {
 public:
  // Whether a scan of so many bytes is worth making them: that takes about 40 us, and decoding from
  // three places then saves about 3.3 us a kilobyte.
  static bool Pay(std::size_t size) noexcept { return size >= std::size_t{12} << 10; }

  // The Huffman tables of a component.
  struct Codes {
    HuffmanCodes dc, ac;
  };
  // The strand tables of each component. Unwanted blocks get those of wanted ones.
  void Find(const Codes* codes, std::uint32_t components, StrandTables* tables);

 private:
  // Tables are made in half the time that they take for kStrandBits.
  static constexpr std::uint32_t kBits = kStrandBits - 1;
  static constexpr std::size_t kMost = 3;
  struct Store {
    BlockTables of[kMost];
    StrandValues values[1 << 12];  // behind the tables
  };
  static_assert(sizeof(Store) <= std::size_t{UINT16_MAX} * kValuesUnit);
  // What tables were made from.
  struct Source {
    HuffmanSpec dc, ac;
    const HuffmanTable *dc_table = nullptr, *ac_table = nullptr;
  };

  std::size_t NumberOf(const Codes& codes) const noexcept;
  void Make(const Codes* codes, std::uint32_t components);

  std::unique_ptr<Store> store_;
  StrandTableMaker maker_;
  Source source_[kMost];
  std::size_t count_ = 0;
};

}  // namespace sluice::baseline
