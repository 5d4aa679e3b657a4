// Notices if another program overwrites a shard in place while it is played.
//
// The new content has valid checksums of its own, so only the file's attributes can reveal it. The
// watch examines a shard, by one system call, when a batch of an epoch first uses it, and then once
// in kBatches batches. A shard that has changed counts as faulty from then on. The planner makes
// the first check of an epoch itself; later checks run on a thread of the watch, so that no batch
// waits for a file system. Only the planner thread calls this class.
#pragma once

#include <thread>
#include <vector>

#include "format/mutex.h"
#include "reader/dataset/dataset_state.h"

namespace sluice {

class ShardWatch {
 public:
  static constexpr std::uint64_t kBatches = 64;

  // `dataset` must outlive the watch.
  explicit ShardWatch(DatasetState& dataset)
      : dataset_(dataset), looked_at_(dataset.facts->shards.size()) {}
  ~ShardWatch();
  ShardWatch(const ShardWatch&) = delete;
  ShardWatch& operator=(const ShardWatch&) = delete;

  void BeginEpoch() noexcept {
    batch_ += kBatches;
    epoch_begun_ = batch_;
  }
  void BeginBatch() noexcept { ++batch_; }
  // Notes that the batch has a sample of that shard.
  void Use(std::uint32_t shard) {
    if (batch_ - looked_at_[shard] >= kBatches) LookSoon(shard);
  }
  void EndBatch() {
    if (!due_.empty()) LookAtDue();
  }

 private:
  void LookSoon(std::uint32_t shard);
  void Look(std::uint32_t shard);
  void LookAtDue();
  void Run();

  DatasetState& dataset_;
  std::uint64_t batch_ = kBatches;
  std::uint64_t epoch_begun_ = kBatches;  // the value of batch_ at the epoch's beginning
  std::vector<std::uint64_t> looked_at_;  // by shard: the batch of the last check
  std::vector<std::uint32_t> due_;        // shards to check in this batch
  std::thread thread_;                    // started when the first shard is due

  Mutex mutex_;
  Condition changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::uint32_t> queue_ GUARDED_BY(mutex_);
};

}  // namespace sluice
