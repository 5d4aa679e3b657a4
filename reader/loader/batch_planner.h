// Which samples make up a batch: fills slots with the work to be done. Used by one thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "reader/batch/slot.h"
#include "reader/dataset/rank_epoch.h"
#include "reader/order/deal.h"
#include "reader/reading/blocks_behind.h"
#include "reader/reading/decoded_store.h"
#include "reader/reading/direct/direct_read_ahead.h"
#include "reader/reading/shard_stage.h"
#include "reader/reading/shard_watch.h"
#include "reader/transform/view_program.h"

namespace sluice {

class BatchPlanner {
 public:
  // All arguments must outlive the planner; `store` may be null, and `direct` is unless shards are
  // read past the page cache. Reading ahead ends early where `give_up` is set meanwhile.
  BatchPlanner(DatasetState& dataset, const LoaderOptions& options,
               const std::vector<ViewProgram>& views, const FieldChoice& choice,
               const DecodedStore* store, DirectFiles* direct, const std::atomic<bool>& give_up);

  // Fills the slot for a batch and begins to read what it needs. Returns what Await() is told.
  std::uint64_t Plan(std::uint64_t epoch, std::uint64_t batch, Slot& slot);
  // Returns when what a batch needs is there.
  void Await(std::uint64_t plan) { reading_->Await(plan); }
  // Whether another batch may be planned before the last one is there.
  bool HasRoom() const noexcept { return reading_->HasRoom(); }
  // So many bytes may be in flight.
  void SetDepth(std::uint64_t bytes) noexcept { reading_->SetDepth(bytes); }
  // Forgets the batches that are not there yet.
  void Cancel();

  // Told of every shard before it is read from; null for none. Must outlive the planner's calls.
  void StageWith(ShardStage* stage) noexcept { stage_ = stage; }

  std::uint64_t read_ahead_bytes() const noexcept { return reading_->bytes_read(); }  // so far

 private:
  void BeginEpoch(std::uint64_t epoch, std::uint64_t batch);
  void FillRows(std::uint64_t batch, Slot& slot);
  void Announce(std::uint64_t block);  // it will be needed from now on
  void SuggestFollowing(std::size_t rows);

  DatasetState& dataset_;
  const LoaderOptions& options_;
  const std::vector<ViewProgram>& views_;
  ShardStage* stage_ = nullptr;
  std::unique_ptr<ReadAhead> reading_;
  DirectReadAhead* direct_ = nullptr;  // `reading_`, where that is one
  Deal deal_;
  std::optional<RankEpoch> plan_;  // of the epoch planned last
  std::uint64_t next_batch_ = 0;   // of plan_, if batches are asked for in order
  std::uint64_t played_ = 0;       // rows of plan_ for which nothing has been suggested yet
  BlocksBehind behind_;
  ShardWatch watch_;
  const std::atomic<bool>& give_up_;
  std::vector<std::uint64_t> opened_;
};

}  // namespace sluice
