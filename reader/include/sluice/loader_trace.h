// A record of what each thread of a Loader did and when, one event at a time.
//
//   options.diagnostics.trace = std::make_shared<sluice::LoaderTrace>();
//
// `sluice-bench epoch --trace FILE` writes the record as a file for a trace viewer. An event costs
// a few tens of nanoseconds. A Loader without a trace spends nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice {

// A piece of a thread's work.
struct TraceEvent {
  // The kind of work.
  enum class Kind : std::uint8_t {
    kReadAhead,  // a batch was planned and its blocks were read into memory; thread 0
    kDecode,     // a run of rows was decoded by a worker; threads from 1 on
  };
  Kind kind = Kind::kReadAhead;  // the kind of work
  unsigned thread = 0;           // 0: the planning thread; from 1 on: decoding threads
  std::uint64_t epoch = 0;       // the batch's epoch
  std::uint64_t batch = 0;       // the batch's number in its epoch
  std::uint32_t first_row = 0;   // the first row's number in the batch
  std::uint32_t rows = 0;        // the number of rows
  // Identifies the batch's slot: the address of the batch's image (ImageBatch::data), or of the
  // slot's memory if batches have no image.
  const void* slot = nullptr;
  std::chrono::steady_clock::time_point begin, end;  // when the work began and ended
};

// The record of a Loader's work. Any number of threads may add events at once.
class LoaderTrace {
 public:
  // Keeps at most `most` events. Further events are dropped and counted.
  explicit LoaderTrace(std::size_t most = 2'000'000) : most_(most) {}

  // Records an event, or counts it as dropped if the record is full.
  void Add(const TraceEvent& event) {
    const std::lock_guard lock(mutex_);
    if (events_.size() < most_) {
      events_.push_back(event);
    } else {
      ++dropped_;
    }
  }
  // Returns the recorded events, in the order in which they were added, and removes them from the
  // record.
  std::vector<TraceEvent> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }
  // Events that were not recorded because the record was full.
  std::uint64_t dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  mutable std::mutex mutex_;
  std::size_t most_;
  std::vector<TraceEvent> events_;
  std::uint64_t dropped_ = 0;
};

}  // namespace sluice
