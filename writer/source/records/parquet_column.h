// The values of one column of a Parquet file, row by row.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "writer/source/list/source_list.h"
#include "writer/source/records/parquet_file.h"

namespace sluice {

struct ParquetValue {
  std::int64_t integer = 0;  // kBool, kInt32, kInt64
  double number = 0;         // kFloat, kDouble
  Bytes bytes;               // kBytes, unless they are only located; until the next row
  Extent extent;             // kBytes that are only located
  std::array<std::byte, kSniffBytes> start{};  // their first bytes
  bool missing = false;                        // an entry of a list that is null
};

// Reads one leaf of one group of rows, a page at a time: memory for one page and one dictionary.
class ParquetColumn {
 public:
  // `located`: the values are not read, but located in the file `archive` of the list, or in a
  // compressed page that is added to the list's.
  ParquetColumn(const ParquetFile& file, const ParquetChunk& chunk, const ParquetLeaf& leaf,
                SourceList* located, std::uint64_t archive);

  // Calls visit for each value of the next row; not at all if it is null or an empty list. Throws
  // Error: kCorrupt; kUnsupported (an encoding that is not read); kLimit (a page of more than 256
  // MiB that must be held).
  void NextRow(const std::function<void(const ParquetValue&)>& visit);

 private:
  // Runs of small numbers: Parquet's hybrid of run lengths and packed bits.
  class Runs {
   public:
    Runs() = default;
    Runs(Bytes bytes, unsigned width) : bytes_(bytes), width_(width) {}
    std::uint32_t Next();

   private:
    Bytes bytes_;
    unsigned width_ = 0;
    std::size_t at_ = 0;
    std::uint64_t left_ = 0;  // of the current run
    bool packed_ = false;
    std::uint32_t repeated_ = 0;
    std::uint64_t bit_ = 0;  // of a packed run
    std::size_t end_ = 0;    // of a packed run's bytes
  };

  struct PageHead {
    std::int64_t type = -1;
    std::int64_t plain_bytes = 0, stored_bytes = 0;
    std::int64_t values = 0;
    std::int64_t encoding = -1;
    std::int64_t defined_bytes = 0, list_bytes = 0;  // of version 2
    bool compressed = true;                          // of version 2
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
  // Where plain values are read from: a page in memory, or the file itself.
  struct Plain {
    Bytes memory;
    std::uint64_t file_offset = 0;  // of what is not in memory
    std::uint64_t bytes = 0;
    std::uint64_t at = 0;
    std::uint64_t archive = 0;  // for extents
    std::uint64_t extent_base = 0;
    std::uint64_t bit = 0;
  };
  std::uint32_t PlainLength(const Plain& plain) const;

  const ParquetFile& file_;
  const ParquetChunk& chunk_;
  const ParquetLeaf& leaf_;
  SourceList* located_;
  std::uint64_t archive_;
  std::uint64_t at_;  // of the next page's head
  std::uint64_t values_seen_ = 0;
  std::uint64_t page_left_ = 0;  // values of the page, with nulls
  std::vector<std::byte> page_;
  std::vector<std::byte> levels_;
  Runs list_levels_, defined_levels_, indices_;
  bool in_dictionary_ = false;  // the page's values are numbers of the dictionary
  bool in_runs_ = false;        // truth values as runs
  Plain plain_;
  std::vector<std::byte> dictionary_page_;
  std::vector<ParquetValue> dictionary_;
  bool has_dictionary_ = false;
  // The levels of the next value, already read.
  bool pending_ = false;
  unsigned list_level_ = 0, defined_level_ = 0;
};

}  // namespace sluice
