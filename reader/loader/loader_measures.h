// What a loader measures of itself, and what it tunes by that.
//
// A value without threads; BatchRing guards it.
#pragma once

#include <sluice/loader_stats.h>

#include "reader/decoding/stage_clock.h"
#include "reader/loader/self_tuning.h"

namespace sluice {

class LoaderMeasures {
 public:
  explicit LoaderMeasures(const SelfTuning& tuning) : tuning_(tuning) {}

  // The first epoch was asked for.
  void Start(Clock::time_point now) noexcept;
  // A batch was handed over, and so many lay ready, itself included.
  void CountBatch(std::size_t samples, std::uint64_t ready) noexcept;

  LoaderStats Now() const;
  const Tuning& tuning() const noexcept { return tuning_.now(); }
  // Learns from an interval. Whether anything is to change.
  bool Tune(const LoaderStats& interval) { return tuning_.Learn(interval); }
  // The same of what came since it last learned, once that is long enough.
  bool TuneNowAndThen();

  LoaderStats counters;  // those that threads add to; the rest is completed by Now()
  WaitClock planner_waits;
  WaitClock worker_waits;
  WaitClock consumer_waits;

 private:
  SelfTuning tuning_;
  bool started_ = false;
  Clock::time_point start_;
  std::uint64_t ready_batches_ = 0;  // summed over batches
  LoaderStats learned_;              // where the last interval for tuning_ ended
};

// Ends a wait when it goes out of scope, if it has begun.
class WaitTimer {
 public:
  explicit WaitTimer(WaitClock& clock) noexcept : clock_(clock) {}
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;
  ~WaitTimer() {
    if (waits_) clock_.End(begun_, Clock::now());
  }
  void Begin() noexcept {
    if (waits_) return;
    waits_ = true;
    begun_ = Clock::now();
    clock_.Begin(begun_);
  }

 private:
  WaitClock& clock_;
  bool waits_ = false;
  Clock::time_point begun_;
};

}  // namespace sluice
