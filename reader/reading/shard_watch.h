// Notices that another program overwrites a shard in place while it is played.
//
// The new content has valid checksums of its own, so only the file's own attributes can tell. The
// watch looks at each shard that batches use once in kBatches batches, at the cost of a system
// call, and when an epoch first uses it. A changed shard is a fault from then on. Used by the
// planner thread only.
#pragma once

#include <vector>

#include "reader/dataset/dataset_state.h"

namespace sluice {

class ShardWatch {
 public:
  static constexpr std::uint64_t kBatches = 64;

  // `dataset` must outlive it.
  explicit ShardWatch(DatasetState& dataset)
      : dataset_(dataset), looked_at_(dataset.shards.size()) {}

  void BeginEpoch() noexcept { batch_ += kBatches; }
  void BeginBatch() noexcept { ++batch_; }
  // The batch has a sample of that shard.
  void Use(std::uint32_t shard) {
    if (batch_ - looked_at_[shard] < kBatches) return;
    looked_at_[shard] = batch_;
    if (const ShardUse file = dataset_.OpenShard(shard)) file->StillTheSame();
  }

 private:
  DatasetState& dataset_;
  std::uint64_t batch_ = kBatches;
  std::vector<std::uint64_t> looked_at_;  // by shard: the batch of the last look
};

}  // namespace sluice
