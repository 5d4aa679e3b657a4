// Where the planner and the consumer stand in the endless stream of batches: after the last batch
// of epoch n comes the first of epoch n + 1. Asking for any other epoch begins another stream.
//
// A value without threads; BatchRing guards it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include <sluice/loader_options.h>

#include "reader/order/deal.h"

namespace sluice {

struct BatchNumber {
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;  // of the epoch
  friend bool operator==(const BatchNumber&, const BatchNumber&) = default;
};

class StreamCursor {
 public:
  struct Options {
    std::uint64_t global_batch = 1;          // samples, over all ranks
    bool epochs_differ = false;              // in how many batches they have
    ResumePoint start;                       // the order, at the beginning of epoch 0
    std::optional<ResumePoint> resume_from;  // checked
  };
  // `deal` must outlive it.
  StreamCursor(const Deal& deal, Options options);

  // The consumer asks for an epoch, of that size; the first time for the one to resume, for what
  // was left of it. False: it is what the stream goes on with anyway.
  bool BeginRange(std::uint64_t epoch, const EpochSize& size);

  bool begun() const noexcept { return range_ > 0; }
  std::uint64_t range() const noexcept { return range_; }         // how many have begun
  std::uint64_t stream() const noexcept { return stream_; }       // the same of streams
  const EpochSize& range_size() const noexcept { return size_; }  // of the range's epoch

  // The planner's side. HasMore(): the next epoch to plan has batches.
  bool HasMore() { return BatchesOf(to_plan_.epoch) > 0; }
  BatchNumber TakeToPlan();
  bool EndsEpoch(const BatchNumber& number) { return number.batch + 1 == BatchesOf(number.epoch); }

  // The consumer's side. RangeIsOver(): the next batch to deliver belongs to another epoch.
  bool RangeIsOver() const noexcept { return next_.epoch != range_epoch_; }
  void Advance();                              // the next batch was taken,
  void HandOver() noexcept { done_ = next_; }  // and handed over: resuming goes on behind it
  ResumePoint Resume() const;

  // Dealing whole shards takes time if there are many. Who comes to an epoch first does that before
  // it takes the mutex, and notes the result.
  void NoteBatches(std::uint64_t epoch, std::uint64_t batches);
  std::uint64_t BatchesOf(std::uint64_t epoch);

 private:
  BatchNumber After(BatchNumber number);

  const Deal& deal_;
  Options options_;
  bool resume_due_;  // the epoch to resume has not been asked for yet
  std::uint64_t range_ = 0;
  std::uint64_t range_epoch_ = 0;
  std::uint64_t stream_ = 0;
  EpochSize size_;
  BatchNumber to_plan_;
  BatchNumber next_;  // to deliver
  BatchNumber done_;  // behind the last batch handed over
  struct SizedEpoch {
    std::uint64_t epoch = 0;
    std::uint64_t batches = 0;
  };
  std::deque<SizedEpoch> sized_;
};

}  // namespace sluice
