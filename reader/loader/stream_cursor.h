// Where the consumer stands in the stream of batches, and which of its iterators may take the next
// one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

#include <sluice/error.h>
#include <sluice/loader.h>
#include <sluice/loader_options.h>

#include "reader/order/deal.h"

namespace sluice {

// Makes sure that only one thread at a time consumes a range: see EpochIterator.
class OneConsumer {
 public:
  // Identifies an iterator's walk through a range; null if the caller is not an iterator.
  using Walk = std::shared_ptr<const char>;

  // Throws Error(kState) if another thread is stepping in that range, or is part-way through the
  // range with an iterator of its own.
  void Require(std::uint64_t range, const Walk& walk) const {
    const Walk other = walk_.lock();
    const bool walks = other != nullptr && other != walk && walker_ != std::this_thread::get_id();
    if (stepping_ != range && !walks) return;
    throw Error(
        ErrorCode::kState,
        "another thread is playing this range (EpochRange), and only one thread at a time may; "
        "give each thread its own Loader, or let one thread step and pass its batches to the "
        "others: any thread may hold a Batch");
  }
  // The walk that took the last step is over.
  void EndWalk() noexcept { walk_.reset(); }

  // The calling thread begins or ends a step. Call Require() before Begin().
  void Begin(std::uint64_t range, const Walk& walk) noexcept {
    stepping_ = range;
    walk_ = walk;
    walker_ = std::this_thread::get_id();
  }
  void End(std::uint64_t range) noexcept {
    if (stepping_ == range) stepping_ = 0;
  }

 private:
  std::uint64_t stepping_ = 0;  // the range in which a thread is taking a step now; 0: none
  std::weak_ptr<const char> walk_;
  std::thread::id walker_;
};

struct BatchNumber {
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;  // number of a batch in the epoch
  friend bool operator==(const BatchNumber&, const BatchNumber&) = default;
};

// Where the planner and the consumer stand in the endless stream of batches: after the last batch
// of epoch n comes the first of epoch n + 1. Asking for any other epoch begins another stream.
//
// It has no threads and no lock: BatchRing guards it.
class StreamCursor {
 public:
  struct Options {
    std::uint64_t global_batch = 1;  // by how much ResumePoint::position grows with each batch
    bool epochs_differ = false;      // whether epochs may have different numbers of batches
    ResumePoint start;  // Resume() copies the order's members from it, not epoch and position
    std::optional<ResumePoint> resume_from;  // checked: see CheckResume()
  };
  // `deal` must outlive it.
  StreamCursor(const Deal& deal, Options options);

  // The consumer asks for an epoch, whose size is `size`. The first time that it asks for the epoch
  // of Options::resume_from, the range is the rest of that epoch. Returns whether a new stream
  // begins: false if the epoch comes next in the present stream anyway. With `part`, which the
  // epoch must have, the range is that part, whatever resume_from says.
  bool BeginRange(std::uint64_t epoch, const EpochSize& size, std::optional<EpochPart> part = {});

  bool begun() const noexcept { return range_ > 0; }
  std::uint64_t range() const noexcept { return range_; }         // how many ranges have begun
  std::uint64_t stream() const noexcept { return stream_; }       // how many streams have begun
  const EpochSize& range_size() const noexcept { return size_; }  // of the range's epoch

  // The planner's side. HasMore() says whether there is a next batch to plan: not if it comes after
  // a range that is a part of an epoch, or if its epoch has no batches or has not been noted.
  bool HasMore() const;
  // Returns the batch to plan; to_plan() is then the one that comes after it.
  BatchNumber TakeToPlan();
  const BatchNumber& to_plan() const noexcept { return to_plan_; }

  // The consumer's side. RangeIsOver() says whether the next batch to deliver belongs to another
  // epoch.
  bool RangeIsOver() const noexcept { return !InRange(next_); }
  // Whether an earlier range had delivered all its batches when a later one began. Only the last
  // kMaxComplete complete ranges are remembered.
  bool WasComplete(std::uint64_t range) const noexcept {
    return std::ranges::find(complete_, range) != complete_.end();
  }
  // The next batch leaves the ring, delivered or failed.
  void Advance();
  // Call it after Advance(), unless that batch failed: the consumer has the batch, so resuming
  // begins after it.
  void HandOver() noexcept { done_ = next_; }
  ResumePoint Resume() const;

  // Dealing whole shards takes time if there are many. So the thread that reaches an epoch first
  // deals it before it takes the mutex, and notes the result here.
  void NoteBatches(std::uint64_t epoch, std::uint64_t batches);
  std::uint64_t BatchesOf(std::uint64_t epoch);

 private:
  BatchNumber After(BatchNumber number);
  // The batch, or if it is skipped, the first one after it that is not.
  BatchNumber NotSkipped(BatchNumber number) const;
  const std::uint64_t* NotedBatches(std::uint64_t epoch) const;
  bool InRange(const BatchNumber& number) const noexcept {
    return number.epoch == range_epoch_ && number.batch < range_end_;
  }

  const Deal& deal_;
  Options options_;
  bool resume_due_;  // the consumer has not asked for the epoch of resume_from yet
  std::uint64_t range_ = 0;
  std::uint64_t range_epoch_ = 0;
  std::uint64_t range_end_ = UINT64_MAX;  // the batch after a range that is a part of its epoch
  std::uint64_t stream_ = 0;
  EpochSize size_;
  static constexpr std::size_t kMaxComplete = 64;
  std::deque<std::uint64_t> complete_;  // the latest ranges that were over when another began
  BatchNumber to_plan_;
  BatchNumber next_;  // to deliver
  BatchNumber done_;  // the one after the last batch handed over
  struct SizedEpoch {
    std::uint64_t epoch = 0;
    std::uint64_t batches = 0;
  };
  std::deque<SizedEpoch> sized_;  // the latest notes; one suffices unless Options::epochs_differ
};

}  // namespace sluice
