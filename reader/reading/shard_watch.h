// Notices that another program overwrites a shard in place while it is played.
//
// What it writes has valid checksums of its own, so that only the file itself can tell: each shard
// that batches have samples of is looked at once in so many batches, which costs a system call,
// and when its samples first come in an epoch. From then on it is a fault.
// Used by the planning thread alone.
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
  std::vector<std::uint64_t> looked_at_;  // by shard: in which batch
};

}  // namespace sluice
