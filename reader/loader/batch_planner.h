// Decides which samples make up a batch, and fills a slot with them. Used by one thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/dataset/rank_epoch.h"
#include "reader/decoding/faults.h"
#include "reader/decoding/row_sources.h"
#include "reader/order/deal.h"
#include "reader/reading/block_source.h"
#include "reader/reading/shard_watch.h"

namespace sluice {

class BatchPlanner {
 public:
  // All references must outlive the planner. Planning ends early if `give_up` is set meanwhile.
  BatchPlanner(const BatchRecipe& recipe, const Deal& deal, BlockSource& source,
               const std::atomic<bool>& give_up);

  // Fills the slot for a batch and begins to read its blocks. Returns the count to pass to
  // BlockSource::Await(), which waits for those blocks.
  std::uint64_t Plan(std::uint64_t epoch, std::uint64_t batch, Slot& slot);
  // Forgets the batches whose blocks are not there yet.
  void Cancel();

 private:
  void BeginEpoch(std::uint64_t epoch, std::uint64_t batch);
  // Returns how many of the batch's rows have a sample.
  std::size_t FillRows(std::uint64_t batch, Slot& slot);
  // Notes the row's sample, flag and draw position in the slot, and that its shard is in use.
  void NoteRow(Slot& slot, std::size_t row, SampleFlag flag, std::uint64_t position);
  // Plans the partners of the row, which has that position in the order.
  void PlanPartners(Slot& slot, std::size_t row, std::uint64_t position, bool fills_up);
  // The block's number in the dataset.
  std::uint64_t BlockOf(const SampleRef& ref) const noexcept;
  // Leaves out the row of a deleted sample, or gives it another sample.
  void TreatDeleted(Slot& slot, std::size_t row);
  // Has the kernel begin to read the frames of the announced blocks' shards: the pages that opening
  // a shard reads.
  void AskForFrames();
  // Returns the number of blocks opened so far, up to the last one that the batch's rows need.
  std::uint64_t OpenBlocks(Slot& slot, std::size_t rows);
  void Open(std::uint64_t block);
  void SuggestFollowing(std::size_t rows);

  const BatchRecipe& recipe_;
  DatasetState& dataset_;
  const LoaderOptions& options_;
  BlockSource& source_;
  const Deal& deal_;
  std::optional<RankEpoch> epoch_;  // the epoch of the batch planned last
  std::uint64_t next_batch_ = 0;    // planning any other batch restarts the epoch's order
  std::uint64_t played_ = 0;        // rows of epoch_ for which nothing has been suggested yet
  ShardWatch watch_;
  const std::atomic<bool>& give_up_;
  std::vector<std::uint64_t> to_open_;  // blocks that the order announced for this batch
  // The batch's deleted samples: row x parts + part, and the block.
  std::vector<std::pair<std::size_t, std::uint64_t>> deleted_;
  std::vector<bool> still_to_open_;  // by block: in to_open_, and not opened yet
  std::vector<bool> asked_for_;      // by shard: AskForFrames() has asked for it
  Substitutes substitutes_;
  ColumnsAhead columns_;
};

}  // namespace sluice
