// The values of one column of a Parquet file, row by row.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

#include "writer/source/list/source_list.h"
#include "writer/source/records/parquet_file.h"

namespace sluice {

struct ParquetValue {
  std::int64_t integer = 0;                    // kBool, kInt32, kInt64
  double number = 0;                           // kHalf, kFloat, kDouble
  Bytes bytes;                                 // kBytes that are read; valid until the next row
  Extent extent;                               // kBytes that are located instead of read
  std::array<std::byte, kSniffBytes> start{};  // the first bytes of `extent`
  bool missing = false;                        // an entry of a list that is null
};

// The value as other tables have it.
nlohmann::json CellOf(const ParquetLeaf& leaf, const ParquetValue& value);

// Reads the values of one leaf in one group of rows. Holds one page and one dictionary in memory.
class ParquetColumn {
 public:
  // If `located` is not null, byte values are not read. Only their positions are given: in the file
  // `archive` of that list or, if compressed, in a page that is added to the list's pages.
  ParquetColumn(const ParquetFile& file, const ParquetChunk& chunk, const ParquetLeaf& leaf,
                SourceList* located, std::uint64_t archive);

  // Calls visit for each value of the next row; not at all if the row is null or an empty list.
  // Throws Error: kCorrupt; kUnsupported (an unsupported encoding); kLimit (a page of more than 256
  // MiB that must be held in memory).
  void NextRow(const std::function<void(const ParquetValue&)>& visit);

 private:
  // Decodes small numbers: Parquet's hybrid of run lengths and bit packing.
  class Runs {
   public:
    Runs() = default;
    Runs(Bytes bytes, unsigned width) : bytes_(bytes), width_(width) {}
    std::uint32_t Next();

   private:
    Bytes bytes_;
    unsigned width_ = 0;
    std::size_t at_ = 0;
    std::uint64_t left_ = 0;  // numbers left in the current run
    bool packed_ = false;
    std::uint32_t repeated_ = 0;  // the number of a run that is not packed
    std::uint64_t bit_ = 0;       // position in a packed run
    std::size_t end_ = 0;         // end of a packed run's bytes
  };

  struct PageHead {
    std::int64_t type = -1;
    std::int64_t plain_bytes = 0, stored_bytes = 0;
    std::int64_t values = 0;
    std::int64_t encoding = -1;
    // Only in pages of version 2: the sizes of the levels, and whether the values are compressed.
    std::int64_t defined_bytes = 0, list_bytes = 0;
    bool compressed = true;
  };

  [[noreturn]] void Fail(const std::string& sentence) const;
  void NextPage();
  std::uint64_t ReadHead(PageHead& head);
  void TakeDictionary(const PageHead& head, std::uint64_t offset);
  void TakePage(const PageHead& head, std::uint64_t offset);
  void TakeValues(const PageHead& head, std::uint64_t offset, std::uint64_t stored,
                  std::uint64_t plain, bool compressed, std::uint64_t levels);
  void Load(std::uint64_t offset, std::uint64_t stored, std::uint64_t plain, bool compressed,
            std::vector<std::byte>& content) const;
  bool NextLevels();
  void ReadValue(ParquetValue& value);
  void ReadPlain(ParquetValue& value);
  // Where values in plain encoding are read from: a page in memory, or the file itself.
  struct Plain {
    Bytes memory;
    std::uint64_t file_offset = 0;  // of values that are not in memory; else 0
    std::uint64_t bytes = 0;        // of all values
    std::uint64_t at = 0;           // of the next value, counted from the first
    std::uint64_t archive = 0;      // Extent::archive of located values
    std::uint64_t extent_base = 0;  // offset of the first value in that archive or page
    std::uint64_t bit = 0;          // of the next truth value
  };
  std::uint32_t PlainLength(const Plain& plain) const;

  const ParquetFile& file_;
  const ParquetChunk& chunk_;
  const ParquetLeaf& leaf_;
  SourceList* located_;
  std::uint64_t archive_;
  std::uint64_t at_;  // of the next page's head
  std::uint64_t values_seen_ = 0;
  std::uint64_t page_left_ = 0;  // values left in the page, including nulls
  // The current page, decompressed. It is not loaded if its values are located in the file itself.
  std::vector<std::byte> page_;
  std::vector<std::byte> levels_;  // what list_levels_ and defined_levels_ decode
  Runs list_levels_, defined_levels_, indices_;
  bool in_dictionary_ = false;  // the page's values are indices into the dictionary
  bool in_runs_ = false;        // the page has truth values, encoded as runs
  Plain plain_;
  std::vector<std::byte> dictionary_page_;
  std::vector<ParquetValue> dictionary_;
  bool has_dictionary_ = false;
  // The levels of the next value, if `pending_`: they have been read, but not the value.
  bool pending_ = false;
  unsigned list_level_ = 0, defined_level_ = 0;
};

}  // namespace sluice
