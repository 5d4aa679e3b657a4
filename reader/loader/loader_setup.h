// The part of a loader that never changes: the checked options, the recipe of its batches, the deal
// of samples to ranks. Made before any thread runs; then all threads only read it.
#pragma once

#include <string>
#include <string_view>

#include <sluice/dataset.h>
#include <sluice/loader_memory.h>
#include <sluice/rank.h>

#include "reader/batch/batch_recipe.h"
#include "reader/loader/cpu_nodes.h"
#include "reader/loader/self_tuning.h"
#include "reader/order/deal.h"
#include "reader/upload/device_layout.h"

namespace sluice {

class LoaderSetup {
 public:
  // `nodes`: of the machine. Throws Error for options that do not fit each other, the dataset or
  // the point to resume from.
  LoaderSetup(const Dataset& dataset, LoaderOptions options, CpuNodes nodes = CpuNodes());

  // By how much ResumePoint::position grows with each batch.
  std::uint64_t global_batch() const noexcept {
    if (recipe.options.order.batches) return 1;
    return recipe.options.batch_size * recipe.options.ranks.world_size;
  }
  Rank rank() const noexcept {
    return {recipe.options.ranks.rank, recipe.options.ranks.world_size, rank_variables};
  }
  std::string Describe() const;
  // Without the memory on a device.
  LoaderMemory Memory() const;
  // A device decodes, and a thread waits for it: BatchRing::UploadElsewhere().
  bool uploads_in_threads() const noexcept { return device_layout.room && !decodes_in_consumer; }

  const Dataset dataset;  // with shards of its own if this loader stages or reads them directly
  const bool decodes_in_consumer;         // LoaderOptions::threads = 0
  SelfTuning tuning;                      // at the start
  const std::string_view rank_variables;  // Rank::variables
  DeviceLayout device_layout;             // the slots' part for LoaderOptions::device
  const BatchRecipe recipe;
  const Deal deal;
  const ResumePoint start;         // the order, at the beginning of epoch 0
  const std::size_t rows_at_once;  // the most rows that a worker takes at a time,
  const bool whole_batches;        // unless there is a batch for each: then it takes a whole one
  const CpuNodes nodes;            // over which threads and slots are spread

 private:
  static Dataset OwnShards(const Dataset& shared, const LoaderOptions& options);
};

}  // namespace sluice
