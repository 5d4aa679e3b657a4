// Everything about a loader that is worked out before any thread runs (LoaderSetup), and what is
// derived from that: the check of a point to resume from (resume.cpp), the rows that have a sample
// (played_rows.cpp), the text of Describe() (description.cpp), and the bound on memory
// (memory_bound.cpp).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/dataset.h>
#include <sluice/loader.h>
#include <sluice/loader_memory.h>
#include <sluice/loader_options.h>
#include <sluice/rank.h>

#include "reader/batch/batch_recipe.h"
#include "reader/dataset/dataset_facts.h"
#include "reader/loader/cpu_nodes.h"
#include "reader/loader/self_tuning.h"
#include "reader/order/deal.h"
#include "reader/upload/device_layout.h"

namespace sluice {

// --- Resuming.

inline std::uint64_t GlobalBatchOf(const LoaderOptions& options) noexcept {
  return options.order.batches ? 1 : options.batch_size * options.ranks.world_size;
}

// The resume point that describes the order, at the beginning of epoch 0.
ResumePoint StartOf(const DatasetFacts& dataset, const LoaderOptions& options);

// Throws Error(kInvalidArgument), which says what to set, unless `point` was taken from the order
// that `start` describes and its position is a multiple of `global_batch`
// (LoaderSetup::global_batch()). `positions` is the number of positions of the point's epoch, over
// all ranks.
void CheckResume(const ResumePoint& point, const ResumePoint& start, std::uint64_t global_batch,
                 std::uint64_t positions);

// CheckEpoch() for the epoch in which the loader begins, and CheckResume() for
// LoaderOptions::resume_from. `options` must have been checked.
void CheckStart(const DatasetFacts& dataset, const LoaderOptions& options, const Deal& deal);

// --- Loader::When().

// `options` must have been checked.
std::vector<PlayedRow> RowsOf(const DatasetFacts& dataset, LoaderOptions options,
                              std::span<const std::uint64_t> samples,
                              std::span<const std::uint64_t> epochs);

// --- Loader::Describe().

// How each step of the transform will run: lines for each view, each step, each field that moves
// with an image, and special options. Every line ends with a newline.
std::string DescriptionOf(const BatchRecipe& recipe, bool device_decodes);

// --- Loader::Memory().
//
// The bound is a sum. Each part of the loader that allocates states how much it takes at most
// (MemoryBytes() and the like), next to the code that allocates; tests/reader/memory_test.cpp
// compares the sum with what a process really takes.

// All members of LoaderMemory except `variable`, `device`, `images` and `shared`.
LoaderMemory MemoryBound(const BatchRecipe& recipe);

// The memory that Loader::Row() adds once it has been called. `row` is the recipe of Row()'s
// batches; `recipe` is the loader's.
LoaderMemory RowBound(const BatchRecipe& row, const BatchRecipe& recipe);

// Throws Error(kLimit) unless the machine has memory left for that many slots and for an epoch's
// order. The loader calls it before it allocates, because a system that overcommits grants the
// memory and kills the program later. Variable-length fields count by their mean size in the
// manifest (BatchRecipe::UsualVariableBytes()), not by their bound: it assumes that every row has
// the largest value, and instances as wide as the row, and would refuse loaders that fit.
void RequireRoom(const BatchRecipe& recipe, std::size_t slots);
// The part of RequireRoom() about the order.
void RequireRoomForOrder(const DatasetFacts& dataset, const LoaderOptions& options);

// The part of a loader that never changes: the checked options, the recipe of its batches, the deal
// of samples to ranks. Made before any thread runs; then all threads only read it.
class LoaderSetup {
 public:
  // `nodes` are those of the machine. Throws Error for options that do not fit each other, the
  // dataset or the point to resume from.
  LoaderSetup(const Dataset& dataset, LoaderOptions options, CpuNodes nodes = CpuNodes());

  // By how much ResumePoint::position grows with each batch: position counts samples, or, with
  // order.batches, batches.
  std::uint64_t global_batch() const noexcept { return GlobalBatchOf(recipe.options); }
  Rank rank() const noexcept {
    return {recipe.options.ranks.rank, recipe.options.ranks.world_size, rank_variables};
  }
  std::string Describe() const;
  // MemoryBound(), with LoaderMemory::variable.
  LoaderMemory Memory() const;
  // Whether two threads do nothing but upload (UploadQueue): if a device decodes, unless the
  // consumer's thread decodes.
  bool uploads_in_threads() const noexcept { return device_layout.room && !decodes_in_consumer; }

  const Dataset dataset;           // with a shard table of its own if needed: see OwnShards()
  const bool decodes_in_consumer;  // LoaderOptions::threads = 0
  SelfTuning tuning;               // the tuning at the start
  const std::string_view rank_variables;  // Rank::variables
  DeviceLayout device_layout;             // the slots' part for LoaderOptions::device
  const BatchRecipe recipe;
  const Deal deal;
  const ResumePoint start;         // from StartOf()
  const std::size_t rows_at_once;  // the most rows that a worker takes at a time
  const bool whole_batches;  // whether a worker takes a whole batch if there is one for each worker
  const CpuNodes nodes;      // over which threads and slots are spread

 private:
  static Dataset OwnShards(const Dataset& shared, const LoaderOptions& options);
};

}  // namespace sluice
