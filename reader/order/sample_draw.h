// Epochs of chosen samples: drawn again for each epoch (SampleDraw, for
// LoaderOptions::order.samples), or put into batches by the user (BatchLists, for
// LoaderOptions::order.batches).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <sluice/batch_sampler.h>

#include "format/mutex.h"
#include "reader/order/mixture_order.h"
#include "reader/order/shape.h"

namespace sluice {

// --- The ways to choose the samples of an epoch. A SampleList holds one of them (SampleDraw).

// Every epoch has the same samples.
struct FixedDraw {
  std::vector<std::uint64_t> samples;
};

struct WeightedDraw {
  std::vector<std::uint64_t> weights;  // whole numbers, whose sum is less than 2^63
  std::uint64_t count = 0;
  bool replacement = false;
};

// Whole numbers in proportion to the weights: the largest becomes 2^40 (less from 2^22 weights on,
// so that the sum stays below 2^63), and a weight above 0 becomes at least 1. The weights must be
// finite and not negative.
std::vector<std::uint64_t> WholeWeights(const std::vector<double>& weights);

struct BalancedDraw {
  std::vector<std::vector<std::uint64_t>> classes;  // by class, its samples: at least one
  std::uint64_t per_class = 0;
};

// Datasets mixed by weight. Their samples are not put into a list: MixtureOrder (mixture_order.h)
// computes the sample at each position.
struct MixtureDraw {
  std::shared_ptr<const MixturePlan> plan;
};

using SampleDraw = std::variant<FixedDraw, WeightedDraw, BalancedDraw, MixtureDraw>;

// Samples in an epoch; UINT64_MAX if the number does not fit 64 bits.
std::uint64_t CountOf(const SampleDraw& draw) noexcept;

// The samples of an epoch: those of a FixedDraw as they were given, others in ascending order.
// `draw` must not be a MixtureDraw.
std::vector<std::uint64_t> Draw(const SampleDraw& draw, std::uint64_t seed, std::uint64_t epoch,
                                StopFlag give_up = nullptr);

// --- The lists that a BatchSampler (OrderOptions::batches) returns for an epoch.

// The batches of an epoch, one after another.
struct EpochBatches {
  std::vector<std::uint64_t> samples;
  std::vector<std::uint64_t> begins;  // where each batch begins in `samples`; then the total
  std::vector<std::uint32_t> sizes;   // BatchSampler::Lists::sizes
  std::uint64_t count() const noexcept { return begins.size() - 1; }
  std::uint64_t size(std::uint64_t batch) const noexcept {
    return begins[batch + 1] - begins[batch];
  }
};

// Calls the user's function, checks the lists that it returns, and keeps them.
class BatchLists {
 public:
  // `samples` is the number of the dataset's samples; `most` is the largest number of samples that
  // one list may have; `timeout` is the longest wait for the function (0: no limit).
  BatchLists(BatchSampler::Function function, std::uint64_t seed, std::uint64_t samples,
             std::uint64_t most, std::chrono::milliseconds timeout)
      : function_(std::move(function)),
        seed_(seed),
        samples_(samples),
        most_(most),
        timeout_(timeout) {}
  // Waits for a call that is under way, up to the timeout.
  ~BatchLists();
  BatchLists(const BatchLists&) = delete;
  BatchLists& operator=(const BatchLists&) = delete;

  // The batches of an epoch. Throws an Error that names the epoch, and the batch if its list is
  // wrong. Thread-safe: only one thread at a time calls the function. The kMaxKept epochs that were
  // made last are kept.
  std::shared_ptr<const EpochBatches> Of(std::uint64_t epoch);

  // The number of samples in the longest epoch so far.
  std::uint64_t most_samples() const noexcept { return most_samples_; }
  // The memory that this object takes if all epochs that it keeps are as long as the longest so
  // far, including the lists that the function has just returned for one epoch.
  std::uint64_t memory_bytes() const noexcept {
    return (kMaxKept + 1) * 8 * (most_samples_ + most_batches_ + 2) + 16 * most_samples_ +
           80 * most_batches_;
  }

 private:
  static constexpr std::size_t kMaxKept = 3;
  struct Kept {
    std::uint64_t epoch = 0;
    std::shared_ptr<const EpochBatches> batches;
  };
  std::shared_ptr<const EpochBatches> Make(std::uint64_t epoch) REQUIRES(mutex_);
  // nullopt if the function has not returned within the timeout.
  std::optional<BatchSampler::Lists> Call(std::uint64_t epoch) REQUIRES(mutex_);

  const BatchSampler::Function function_;
  const std::uint64_t seed_, samples_, most_;
  const std::chrono::milliseconds timeout_;
  std::atomic<std::uint64_t> most_samples_ = 0, most_batches_ = 0;
  Mutex mutex_;
  std::deque<Kept> kept_ GUARDED_BY(mutex_);
  // With a timeout: the call whose result nobody has taken yet, and its epoch.
  std::future<BatchSampler::Lists> running_ GUARDED_BY(mutex_);
  std::uint64_t running_epoch_ GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
