// Which samples make up a batch: fills slots with the work to be done. Used by one thread.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "reader/cache/decoded_store.h"
#include "reader/cache/shard_stage.h"
#include "reader/order/deal.h"
#include "reader/pipeline/blocks_behind.h"
#include "reader/pipeline/epoch_plan.h"
#include "reader/pipeline/slot.h"

namespace sluice {

class BatchPlanner {
 public:
  // All arguments must outlive the planner; `store` may be null. Reading ahead ends early where
  // `give_up` is set meanwhile.
  BatchPlanner(DatasetState& dataset, const LoaderOptions& options, const FieldChoice& choice,
               const DecodedStore* store, const std::atomic<bool>& give_up);

  // Fills the slot for a batch and makes what it needs resident.
  void Plan(std::uint64_t epoch, std::uint64_t batch, Slot& slot);

  // Told of every shard before it is read from; null for none. Must outlive the planner's calls.
  void StageWith(ShardStage* stage) noexcept { stage_ = stage; }

  std::uint64_t read_ahead_bytes() const noexcept { return read_ahead_bytes_; }  // so far

 private:
  void BeginEpoch(std::uint64_t epoch, std::uint64_t batch);
  void FillRows(std::uint64_t batch, Slot& slot);

  DatasetState& dataset_;
  const LoaderOptions& options_;
  const FieldChoice& choice_;
  const DecodedStore* store_;
  ShardStage* stage_ = nullptr;
  const std::atomic<bool>& give_up_;
  Deal deal_;
  std::optional<EpochPlan> plan_;  // of the epoch planned last
  std::uint64_t first_epoch_ = 0;  // the first that was planned
  bool any_planned_ = false;
  std::uint64_t next_batch_ = 0;  // of plan_, if batches are asked for in order
  BlocksBehind behind_;
  std::vector<std::uint64_t> opened_;
  std::uint64_t read_ahead_bytes_ = 0;
};

}  // namespace sluice
