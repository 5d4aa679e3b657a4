// The blocks in which the fields of one row lie: that of the image shard, and one of each column.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "format/disk/block.h"
#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/reading/direct/held_block.h"

namespace sluice {

// Each worker thread has one.
class RowSources {
 public:
  // Where a field of the row lies.
  struct Place {
    BlockView block;
    const RecordLayout* layout;  // by field of the dataset's schema
    std::uint32_t record;
  };
  // A row of a column.
  struct ColumnRow {
    DatasetState* column;
    SampleRef ref;
    ShardUse file;
    std::shared_ptr<const HeldBlock> held;  // of a column in an object store, else null
    Bytes Record(const Place& place) const { return place.block.Record(ref.record); }
    // Whether bytes of the row could not be read, or were cut off.
    bool Lost(Bytes record, std::span<const Bytes> payloads) const;
  };

  // `recipe` must outlive it.
  explicit RowSources(const BatchRecipe& recipe);

  // Finds the rows of the sample in the columns that the recipe uses. Throws Error.
  void Find(const SampleRef& ref);
  // The mappings that must be guarded while the row is read: after Find(), with the shard's own
  // first.
  std::span<const GuardedMapping> Mappings(const ShardFile& shard);
  // Opens the blocks that Find() has found, under a guard, and sets the place of the shard's own
  // fields. Throws Error.
  void Open(const BlockView& block, const RecordLayout& layout, std::uint32_t record);
  // Where the field lies; null if the sample's dataset lacks it.
  const Place* Of(std::size_t field) const noexcept {
    for (const Place& place : places_)
      if (place.layout->has(field)) return &place;
    return nullptr;
  }
  // The row of the column in which the field lies; null if it lies in the shard.
  const ColumnRow* ColumnOf(std::size_t field) const noexcept {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (layouts_[i]->has(field)) return &rows_[i];
    return nullptr;
  }
  // The Error for bytes of a column that were lost while the row was made.
  std::optional<Error> LostError(std::span<const Bytes> payloads) const;

 private:
  struct Used {
    DatasetState* column;
    const RecordLayout* layout;
    std::uint64_t first_sample;  // of its part of a mixture
  };
  const DatasetState& dataset_;
  std::vector<std::vector<Used>> used_;  // by part of a mixture; else one
  std::vector<ColumnRow> rows_;
  std::vector<ColumnRow> before_;  // of the row before: often in the same block
  std::vector<const RecordLayout*> layouts_;
  std::vector<Place> places_;
  std::vector<GuardedMapping> mappings_;
};

// Holds the blocks of columns in an object store that are small enough to be read once: at most
// kMost bytes together.
class ColumnBlocks {
 public:
  static constexpr std::uint64_t kMost = std::uint64_t{64} << 20;

  // Reads them. A row whose block cannot be read reports that itself. Throws Error(kState) after a
  // stop request, and Error(kMemory).
  explicit ColumnBlocks(const BatchRecipe& recipe);
  // The most bytes that it holds.
  static std::uint64_t MemoryBytes(const BatchRecipe& recipe);

 private:
  std::vector<ShardParts::Held> held_;
};

// Reads the blocks of columns in an object store ahead that ColumnBlocks does not hold. Used by the
// planner.
class ColumnsAhead {
 public:
  // `recipe` must outlive it.
  explicit ColumnsAhead(const BatchRecipe& recipe);

  // From now on, shards of columns that could not be opened are tried again.
  void ForgetFaults() const;
  // Begins to fetch the blocks for the slot's first `rows` rows. The slot holds them.
  void Open(Slot& slot, std::size_t rows);
  // The most bytes that all slots hold.
  static std::uint64_t MemoryBytes(const BatchRecipe& recipe);

 private:
  struct Large {
    DatasetState* column;
    std::size_t part;  // of a mixture; else 0
    std::uint64_t first_sample;
  };
  static std::vector<Large> LargeOf(const BatchRecipe& recipe);
  const BatchRecipe& recipe_;
  const DatasetFacts& dataset_;
  const std::vector<Large> large_;
};

// A column of a dataset that is not a mixture, and has chosen fields.
struct UsedColumn {
  DatasetState* column;
  const RecordLayout* layout;  // by field of the dataset's schema
};
std::vector<UsedColumn> UsedColumnsOf(const BatchRecipe& recipe);

}  // namespace sluice
