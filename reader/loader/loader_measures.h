// A loader's measurements of itself, and the tuning based on them. It has no threads and no lock:
// BatchRing guards it.
//
// A new figure is a member of LoaderStats (loader_stats.cpp does not compile without it). A thread
// counts it in `counters`, through BatchRing, or LoaderState::Stats() asks a part of the loader for
// it. `sluice-bench epoch` prints it from EpochFigures (one of storage: storage_options.cpp; a
// stage's time: experiments.cpp). It also goes into these files, where "decode_major_faults" shows
// how:
//   reader/include/sluice/loader_stats.h
//   reader/loader/loader_stats.cpp
//   reader/loader/metrics_text.cpp
//   reader/python/binding/stats.cpp
//   samples/guides/metrics.md
//   tests/reader/loader_stats_test.cpp
//   bench/epoch/run.h                     this and the rest if `epoch` is to print it
//   bench/epoch/run.cpp
//   bench/epoch/report.cpp
//   bench/epoch/json.cpp
//   bench/report/SCHEMA.md
//   not reader/loader/loader_measures.cpp   counts it
//   not samples/guides/settings.md        names the figure of one setting
//   not reader/loader/self_tuning.cpp     uses it
#pragma once

#include <span>

#include <sluice/loader_stats.h>

#include "reader/decoding/stage_clock.h"
#include "reader/loader/self_tuning.h"
#include "reader/upload/decoding_share.h"

namespace sluice {

// A decoding thread's work on a run of rows.
struct RowWork {
  double seconds = 0;
  double cpu_seconds = 0;  // this and the next: as far as the kernel was asked (ThreadUsage)
  std::uint64_t major_faults = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t picture_pixels = 0;
  std::uint64_t shown_pixels = 0;
  std::uint64_t left_out_objects = 0;
};

class LoaderMeasures {
 public:
  LoaderMeasures(const SelfTuning& tuning, DecodeOn decode) : tuning_(tuning), share_(decode) {}

  // Called when the first epoch begins; later calls do nothing.
  void Start(Clock::time_point now) noexcept;
  // The consumer got a batch. `ready` is the number of batches that were ready, this one included.
  void CountBatch(std::size_t samples, std::uint64_t ready, Clock::time_point now) noexcept;
  // A thread has made a run of rows. `timed`: the seconds of each, if the thread timed them.
  void CountRows(std::size_t rows, const RowWork& work, std::span<const double> timed) noexcept;

  LoaderStats Now() const;
  const Tuning& tuning() const noexcept { return tuning_.now(); }
  // The device's share of the rows of a batch, of DeviceShare::kParts.
  unsigned device_parts() const noexcept { return share_.parts(); }
  // Learns from an interval. Returns whether the tuning changed.
  bool Tune(const LoaderStats& interval) { return tuning_.Learn(interval); }
  // Learns from the time since it last learned, if that was long enough. Returns whether the tuning
  // changed.
  bool TuneNowAndThen(Clock::time_point now);

  LoaderStats counters;  // only those that threads add to; Now() fills in the others
  DecodingCosts costs;   // since TuneNowAndThen() last learned
  WaitClock planner_waits;
  WaitClock worker_waits;
  WaitClock consumer_waits;

 private:
  SelfTuning tuning_;
  DecodingShare share_;
  bool started_ = false;
  Clock::time_point start_;
  std::uint64_t ready_batches_ = 0;  // summed over batches
  double counted_waits_ = 0;         // seconds of consumer_waits that the histogram has already
  LoaderStats learned_;              // the figures when TuneNowAndThen() last learned
};

// Ends a wait, if one has begun, when it goes out of scope.
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
