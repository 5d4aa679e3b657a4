// What a BatchSampler gives for an epoch, checked and kept: behind OrderOptions::batches.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <sluice/batch_sampler.h>

#include "format/mutex.h"

namespace sluice {

// The batches of an epoch, one after another.
struct EpochBatches {
  std::vector<std::uint64_t> samples;
  std::vector<std::uint64_t> begins;  // of each batch in `samples`, and the end of the last
  std::uint64_t count() const noexcept { return begins.size() - 1; }
  std::uint64_t size(std::uint64_t batch) const noexcept {
    return begins[batch + 1] - begins[batch];
  }
};

class BatchLists {
 public:
  // `samples`: of the dataset; `most`: in one list.
  BatchLists(BatchSampler::Function function, std::uint64_t seed, std::uint64_t samples,
             std::uint64_t most)
      : function_(std::move(function)), seed_(seed), samples_(samples), most_(most) {}

  // Throws Error that names the epoch, and the batch. Thread-safe: the function is called by one
  // thread at a time. The epochs asked for last are kept.
  std::shared_ptr<const EpochBatches> Of(std::uint64_t epoch);

  // The samples of the longest epoch asked for so far, and the memory that the lists of such epochs
  // take here, one of them as the function returns it.
  std::uint64_t most_samples() const noexcept { return most_samples_; }
  std::uint64_t memory_bytes() const noexcept {
    return (kMostKept + 1) * 8 * (most_samples_ + most_batches_ + 2) + 16 * most_samples_ +
           64 * most_batches_;
  }

 private:
  static constexpr std::size_t kMostKept = 3;
  struct Kept {
    std::uint64_t epoch = 0;
    std::shared_ptr<const EpochBatches> batches;
  };
  std::shared_ptr<const EpochBatches> Make(std::uint64_t epoch);

  const BatchSampler::Function function_;
  const std::uint64_t seed_, samples_, most_;
  std::atomic<std::uint64_t> most_samples_ = 0, most_batches_ = 0;
  Mutex mutex_;
  std::deque<Kept> kept_ GUARDED_BY(mutex_);
};

}  // namespace sluice
