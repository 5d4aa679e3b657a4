// What a Loader's threads did, and when: for looking at an epoch, one event at a time.
//
//   options.trace = std::make_shared<sluice::LoaderTrace>();
//
// `sluice-bench epoch --trace FILE` writes one as a file for a trace viewer. A Loader without one
// spends nothing on it; with one, a few tens of nanoseconds an event.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice {

struct TraceEvent {
  enum class Kind : std::uint8_t {
    kReadAhead,  // a batch was planned and its blocks made resident; thread 0
    kDecode,     // a run of rows was decoded by a worker; threads from 1 on
  };
  Kind kind = Kind::kReadAhead;
  unsigned thread = 0;
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;      // of the epoch
  std::uint32_t first_row = 0;  // of the batch
  std::uint32_t rows = 0;
  // The memory the batch lies in, by its image's address (ImageBatch::data): the place in the ring.
  const void* slot = nullptr;
  std::chrono::steady_clock::time_point begin, end;
};

// Any number of threads may add at once.
class LoaderTrace {
 public:
  // Keeps at most `most` events and counts those beyond.
  explicit LoaderTrace(std::size_t most = 2'000'000) : most_(most) {}

  void Add(const TraceEvent& event) {
    const std::lock_guard lock(mutex_);
    if (events_.size() < most_) {
      events_.push_back(event);
    } else {
      ++dropped_;
    }
  }
  // What was recorded since it was made or last asked, in the order in which it ended.
  std::vector<TraceEvent> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }
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
