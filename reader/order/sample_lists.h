// Epochs of chosen samples: drawn anew for each epoch (SampleDraw, for
// LoaderOptions::order.samples), or composed to batches by the user (BatchLists, for
// LoaderOptions::order.batches).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include <sluice/batch_sampler.h>

#include "format/mutex.h"
#include "reader/order/mixture_order.h"
#include "reader/order/shape.h"

namespace sluice {

// The ways to make an epoch's list of samples, behind SampleList.

// The same samples in every epoch.
struct FixedDraw {
  std::vector<std::uint64_t> samples;
};

struct WeightedDraw {
  std::vector<std::uint64_t> weights;  // whole numbers, whose sum is less than 2^63
  std::uint64_t count = 0;
  bool replacement = false;
};

// Whole numbers in proportion to the weights, as exactly as a sum below 2^63 allows. The weights
// must be finite and not negative.
std::vector<std::uint64_t> WholeWeights(const std::vector<double>& weights);

struct BalancedDraw {
  std::vector<std::vector<std::uint64_t>> classes;  // the samples of each, none of them empty
  std::uint64_t per_class = 0;
};

// Of datasets mixed by weight. No list is made of them: see mixture_order.h.
struct MixtureDraw {
  std::shared_ptr<const MixturePlan> plan;
};

using SampleDraw = std::variant<FixedDraw, WeightedDraw, BalancedDraw, MixtureDraw>;

// Samples in an epoch; UINT64_MAX if the number does not fit 64 bits.
std::uint64_t CountOf(const SampleDraw& draw) noexcept;

// The samples of an epoch: those of a FixedDraw as they were given, others in ascending order. Not
// of a MixtureDraw.
std::vector<std::uint64_t> Draw(const SampleDraw& draw, std::uint64_t seed, std::uint64_t epoch,
                                StopFlag give_up = nullptr);

// The lists that a BatchSampler gives for an epoch, checked and kept: OrderOptions::batches.

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
    return (kMaxKept + 1) * 8 * (most_samples_ + most_batches_ + 2) + 16 * most_samples_ +
           64 * most_batches_;
  }

 private:
  static constexpr std::size_t kMaxKept = 3;
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
