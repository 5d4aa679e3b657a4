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
#include <string>
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

// The time that decoding threads spent on one part of making rows, such as a step of the transform.
struct PartTime {
  // A step by its word in ParsePipeline(), such as "blur"; or "decode" (payload to pixels),
  // "checksum", "fields", "normalize", "warp", "files", "function" (yours), "copy", "other".
  std::string part;
  bool step = false;   // whether it is a step of the transform
  double seconds = 0;  // without the parts within it
};
// Adds a time to the entry of its part. If the list has no such entry, makes one.
inline void AddPartTime(std::vector<PartTime>& times, const PartTime& more) {
  for (PartTime& time : times) {
    if (time.part != more.part || time.step != more.step) continue;
    time.seconds += more.seconds;
    return;
  }
  times.push_back(more);
}

// The record of a Loader's work. Any number of threads may add events at once.
class LoaderTrace {
 public:
  static constexpr std::size_t kMost = 2'000'000;  // events that are kept by default
  // Keeps at most `most` events. Further events are dropped and counted. With `times_parts`, each
  // decoding thread also times the parts of its work: in its first 64 runs of rows, and then in one
  // of eight. In a timed run, each step runs by itself. (In other runs, several colour steps may be
  // done in one pass.)
  explicit LoaderTrace(std::size_t most = kMost, bool times_parts = false)
      : most_(most), times_parts_(times_parts) {}
  // Whether decoding threads time the parts of their work.
  bool times_parts() const noexcept { return times_parts_; }

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
  // Adds the times of a run of rows.
  void AddTimes(const std::vector<PartTime>& times) {
    const std::lock_guard lock(mutex_);
    for (const PartTime& time : times)
      AddPartTime(times_, time);
  }
  // Returns the time of each part, summed over the timed runs, and removes the times from the
  // record. Compare the parts with each other only: the sums lack the runs that were not timed.
  std::vector<PartTime> TakeTimes() {
    const std::lock_guard lock(mutex_);
    return std::exchange(times_, {});
  }
  // Events that were not recorded because the record was full.
  std::uint64_t dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  mutable std::mutex mutex_;
  std::size_t most_;
  const bool times_parts_;
  std::vector<TraceEvent> events_;
  std::vector<PartTime> times_;
  std::uint64_t dropped_ = 0;
};

}  // namespace sluice
