// Batches composed by the user: which samples make up each batch of an epoch.
//
//   options.order.batches = [&](std::uint64_t seed, std::uint64_t epoch) {
//     return BucketsByAspectRatio(seed, epoch);   // std::vector<std::vector<std::uint64_t>>
//   };
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace sluice {

class BatchLists;  // private

// A function of (LoaderOptions::seed, epoch) that composes the batches of an epoch: it returns a
// list of sample numbers for each batch. A sample may come several times, or not at all. The
// function must return the same lists whenever it is called for an epoch, because ranks, resumed
// processes and Loader::Row() call it again. Several threads may call it; calls for one Loader do
// not overlap. LoaderOptions::timeout bounds a wait for the function. If the Loader is destroyed
// while a call has not returned within that time, the call continues on a thread of its own. While
// the last batch of an epoch is planned, the function is called for the next epoch.
//
// With W ranks, each list is a global batch, and has at most batch_size x W numbers. Its n numbers
// are cut into runs of n / W (rounded up), and rank r plays run r. So neighbours in a list mostly
// stay on one rank. If n cannot be divided evenly, the last ranks fill up with the list's first
// samples (SampleFlag::kFillsUp).
class BatchSampler {
 public:
  // One list for each batch of an epoch: the numbers of the batch's samples in the dataset.
  struct Lists : std::vector<std::vector<std::uint64_t>> {
    using std::vector<std::vector<std::uint64_t>>::vector;
    // Lists without sizes.
    Lists(std::vector<std::vector<std::uint64_t>> lists) : vector(std::move(lists)) {}
    // For each batch, which of the sizes that LoaderOptions::sizes has for the epoch its images
    // get: 0 is the first. Empty: the size is drawn, or there is one.
    std::vector<std::uint32_t> sizes;
  };
  // The function that the user writes.
  using Function = std::function<Lists(std::uint64_t seed, std::uint64_t epoch)>;

  BatchSampler() = default;  // no function: batches are cut from the order
  template <class F>
  requires(!std::same_as<F, BatchSampler> &&
           std::is_invocable_r_v<Lists, F&, std::uint64_t, std::uint64_t>) BatchSampler(F lists_of)
      : function_(std::move(lists_of)) {}

  // Whether there is a function.
  explicit operator bool() const noexcept { return static_cast<bool>(function_); }
  // The function; empty if the sampler has no function.
  const Function& function() const noexcept { return function_; }

  // Used by the Loader.
  BatchSampler(Function lists_of, std::shared_ptr<BatchLists> checked)
      : function_(std::move(lists_of)), lists_(std::move(checked)) {}
  // Used by the Loader.
  const std::shared_ptr<BatchLists>& lists() const noexcept { return lists_; }

 private:
  Function function_;
  std::shared_ptr<BatchLists> lists_;
};

}  // namespace sluice
