// A sample's number says where its row lies in a column, as it does in the image shards: a column
// is a dataset of the same samples. Columns in a folder are mapped; those in an object store are
// fetched when they are needed, unless ColumnBlocks has read them at the start. Rows often come
// from the block of the row before, which is kept for that.
#include "reader/decoding/row_sources.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "reader/dataset/options_of.h"
#include "reader/reading/remote_blocks.h"

namespace sluice {

namespace {

// Whether a field of that layout is chosen.
bool Wants(const BatchRecipe& recipe, const RecordLayout& layout) {
  const SlotLayout& slot = recipe.layout;
  const auto has = [&layout](const auto& field) {
    return field.field != Schema::kNone && layout.has(field.field);
  };
  return std::ranges::any_of(slot.arrays, has) || std::ranges::any_of(slot.variables, has) ||
         std::ranges::any_of(slot.images, has);
}

template <class Visit>
// Calls `visit` with the number of the part of a mixture, the column, its layout in the mixture's
// schema, and the number of the part's first sample; of a single dataset, these numbers are 0.
void ForEachUsed(const BatchRecipe& recipe, Visit visit) {
  const DatasetFacts& facts = recipe.dataset;
  for (std::size_t c = 0; c < facts.columns.size(); ++c) {
    if (Wants(recipe, facts.columns[c].layout))
      visit(0, *recipe.dataset.columns[c], facts.columns[c].layout, 0);
  }
  for (std::size_t p = 0; p < facts.parts.size(); ++p) {
    const MixedDataset& part = facts.parts[p];
    for (std::size_t c = 0; c < part.columns.size(); ++c) {
      if (Wants(recipe, part.columns[c]))
        visit(p, *part.dataset->columns[c], part.columns[c], part.first_sample);
    }
  }
}

}  // namespace

std::vector<UsedColumn> UsedColumnsOf(const BatchRecipe& recipe) {
  std::vector<UsedColumn> used;
  if (!recipe.dataset.facts->parts.empty()) return used;
  ForEachUsed(recipe, [&used](std::size_t, DatasetState& column, const RecordLayout& layout,
                              std::uint64_t) {
    used.push_back({&column, &layout});
  });
  return used;
}

RowSources::RowSources(const BatchRecipe& recipe)
    : dataset_(recipe.dataset),
      used_(std::max<std::size_t>(1, recipe.dataset.facts->parts.size())) {
  ForEachUsed(recipe, [this](std::size_t part, DatasetState& column, const RecordLayout& layout,
                             std::uint64_t first_sample) {
    used_[part].push_back({&column, &layout, first_sample});
  });
}

void RowSources::Find(const SampleRef& ref) {
  const DatasetFacts& facts = *dataset_.facts;
  const std::size_t part =
      facts.parts.empty()
          ? 0
          : static_cast<std::size_t>(&facts.PartWith(ref.shard) - facts.parts.data());
  if (used_[part].empty() && rows_.empty()) return;
  before_.swap(rows_);
  rows_.clear();
  layouts_.clear();
  for (const Used& used : used_[part]) {
    const SampleRef at = used.column->facts->shape.Sample(ref.index - used.first_sample);
    // Neighbouring samples often lie in one block of a column, and the block read last is still
    // held.
    const auto same = std::ranges::find_if(before_, [&](const ColumnRow& row) {
      return row.column == used.column && row.ref.shard == at.shard && row.ref.block == at.block;
    });
    layouts_.push_back(used.layout);
    if (same != before_.end()) {
      rows_.push_back(std::move(*same));
      rows_.back().ref = at;
      continue;
    }
    std::shared_ptr<const Error> fault;
    ColumnRow row{used.column, at, used.column->table.Shard(at.shard, fault), nullptr};
    // A copy: many rows may meet the same shard's fault, in several threads.
    if (row.file == nullptr) throw Error(*fault);
    if (used.column->table.remote != nullptr)
      row.held = RemoteBlocks::Fetch(*used.column, at.shard, row.file, at.block);
    rows_.push_back(std::move(row));
  }
  before_.clear();
}

std::span<const GuardedMapping> RowSources::Mappings(const ShardFile& shard) {
  mappings_.clear();
  mappings_.push_back(shard.guarded());
  for (const ColumnRow& row : rows_)
    mappings_.push_back(row.file->guarded());
  return mappings_;
}

void RowSources::Open(const BlockView& block, const RecordLayout& layout, std::uint32_t record) {
  places_.clear();
  places_.push_back({block, &layout, record});
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const ColumnRow& row = rows_[i];
    places_.push_back({row.held != nullptr ? row.held->View(*row.file, row.ref.block)
                                           : row.file->Block(row.ref.block),
                       layouts_[i], row.ref.record});
  }
}

// For a file, asks the file system only if its last bytes are no longer there.
bool RowSources::ColumnRow::Lost(Bytes record, std::span<const Bytes> payloads) const {
  if (held != nullptr) {
    return held->Lost(record) || std::ranges::any_of(payloads, [this](const Bytes payload) {
             return held->Lost(payload);
           });
  }
  // Orders the reads of the row before the look at the file's last bytes: if the file is whole now,
  // it was whole when the row was read.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (file->WholeSoFar()) return false;
  const auto lost = [this](const Bytes bytes) { return file->Lost(bytes) || file->CutOff(bytes); };
  const Bytes whole = file->bytes();
  // Payloads of all columns of the row are passed; only those in this file count here.
  return lost(record) || std::ranges::any_of(payloads, [&](const Bytes payload) {
           return payload.data() >= whole.data() && payload.data() < whole.data() + whole.size() &&
                  lost(payload);
         });
}

std::optional<Error> RowSources::LostError(std::span<const Bytes> payloads) const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const ColumnRow& row = rows_[i];
    if (row.Lost(row.Record(places_[i + 1]), payloads))
      return row.file->Unreadable("sample " + std::to_string(row.ref.index));
  }
  return std::nullopt;
}

namespace {

// The columns that are read once, the smallest first.
std::vector<DatasetState*> SmallRemoteColumns(const BatchRecipe& recipe) {
  std::vector<DatasetState*> columns;
  ForEachUsed(recipe,
              [&columns](std::size_t, DatasetState& column, const RecordLayout&, std::uint64_t) {
                if (column.table.remote != nullptr) columns.push_back(&column);
              });
  const auto bytes = [](const DatasetState* column) { return column->facts->shape.bytes(); };
  // The smallest first, so that as many columns as possible fit.
  std::ranges::stable_sort(columns, {}, bytes);
  std::uint64_t all = 0;
  const auto large = std::ranges::find_if(columns, [&](const DatasetState* column) {
    all += bytes(column);
    return all > ColumnBlocks::kMost;
  });
  columns.erase(large, columns.end());
  return columns;
}

// Throws the error again if it says nothing about the data.
void RequireOfData(const Error& error) {
  if (error.code() == ErrorCode::kState || error.code() == ErrorCode::kMemory) throw Error(error);
}

}  // namespace

ColumnBlocks::ColumnBlocks(const BatchRecipe& recipe) {
  for (DatasetState* const column : SmallRemoteColumns(recipe)) {
    std::vector<ShardParts::Held> blocks;
    for (std::uint32_t s = 0; s < column->facts->shards.size(); ++s) {
      std::shared_ptr<const Error> fault;
      const ShardUse shard = column->table.Shard(s, fault);
      if (shard == nullptr) {
        RequireOfData(*fault);
        continue;
      }
      for (std::uint32_t b = 0; b < shard->blocks(); ++b)
        blocks.push_back(column->table.remote->Begin(s, shard->BlockParts(b).whole(), {}));
    }
    column->table.remote->Flush();
    for (ShardParts::Held& block : blocks) {
      try {
        column->table.remote->Await(block);
        held_.push_back(std::move(block));
      } catch (const Error& error) {
        RequireOfData(error);
      }
    }
  }
}

std::uint64_t ColumnBlocks::MemoryBytes(const BatchRecipe& recipe) {
  std::uint64_t bytes = 0;
  for (const DatasetState* const column : SmallRemoteColumns(recipe))
    bytes += column->facts->shape.bytes();
  return bytes;
}

std::vector<ColumnsAhead::Large> ColumnsAhead::LargeOf(const BatchRecipe& recipe) {
  const std::vector<DatasetState*> small = SmallRemoteColumns(recipe);
  std::vector<Large> large;
  ForEachUsed(recipe, [&](std::size_t part, DatasetState& column, const RecordLayout&,
                          std::uint64_t first_sample) {
    if (column.table.remote != nullptr && std::ranges::find(small, &column) == small.end())
      large.push_back({&column, part, first_sample});
  });
  return large;
}

ColumnsAhead::ColumnsAhead(const BatchRecipe& recipe)
    : recipe_(recipe), dataset_(recipe.dataset), large_(LargeOf(recipe)) {}

void ColumnsAhead::ForgetFaults() const {
  ForEachUsed(recipe_, [](std::size_t, DatasetState& column, const RecordLayout&, std::uint64_t) {
    column.table.ForgetFaults();
  });
}

void ColumnsAhead::Open(Slot& slot, std::size_t rows) {
  for (const Large& large : large_) {
    DatasetState& column = *large.column;
    std::uint64_t last = UINT64_MAX;  // the block of the row before
    const std::size_t parts = slot.has_partners ? slot.layout->parts : 1;
    for (std::size_t i = 0; i < rows * parts; ++i) {
      const std::size_t row = i / parts;
      const SampleRef& ref = RefOf(slot, row, i % parts);
      const bool of_part =
          dataset_.parts.empty() || &dataset_.PartWith(ref.shard) == &dataset_.parts[large.part];
      if (slot.flags[row] == kLeftOut || !of_part) continue;
      const SampleRef at = column.facts->shape.Sample(ref.index - large.first_sample);
      const std::uint64_t block = column.facts->shape.first_block(at.shard) + at.block;
      if (std::exchange(last, block) == block) continue;
      std::shared_ptr<const Error> fault;  // the row's own reading will report it
      const ShardUse shard = column.table.Shard(at.shard, fault);
      if (shard == nullptr) continue;
      slot.column_blocks.push_back(
          column.table.remote->Begin(at.shard, shard->BlockParts(at.block).whole(), {}));
    }
    column.table.remote->Flush();
  }
}

std::uint64_t ColumnsAhead::MemoryBytes(const BatchRecipe& recipe) {
  std::uint64_t bytes = 0;
  for (const Large& large : LargeOf(recipe)) {
    const DatasetShape& shape = large.column->facts->shape;
    bytes += SlotsOf(recipe.options) * recipe.options.batch_size * recipe.layout.parts *
             CeilDiv(shape.bytes(), std::max<std::uint64_t>(1, shape.blocks()));
  }
  return bytes;
}

}  // namespace sluice
