// Chooses the number of threads, the length of the ring and the depth of reading ahead, as far as
// LoaderOptions leaves them to the loader. The choice follows from what the loader measures.
//
// It learns from one interval after the other, each of at least 8 batches. After two intervals in a
// row with the same bottleneck, it raises the number that helps: if decoding is the bottleneck, it
// adds a thread; if the ring is, it adds one batch decoded ahead, and one more for every eight; if
// storage is, it doubles the bytes in flight. After a long time in which the trainer was the
// bottleneck, it takes away a thread, if the others can do that thread's work. The ring and the
// depth never shrink, and threads never go back to a number that was once too small.
//
// With too many threads, the rate falls. There are three signs of that. The threads want more CPUs
// than there are (the trainer's own thread wants one, too). Or the threads wait for each other: the
// ring is as long as it may be, and still neither they nor the trainer are busy. Or samples are so
// small that handing them over is most of the work. On such a sign, it tries one thread less for
// some intervals. If that gave more batches a second than before, it measures the former number
// again for as many intervals, and keeps one thread less only if that is still the faster. A thread
// that was taken away like this does not come back, and after a trial that did not pay, no other
// trial follows. So changes come to an end: the numbers cannot oscillate.
//
// The lengths that a ring may begin with or grow to are in options_of.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sluice/loader_options.h>
#include <sluice/loader_stats.h>

#include "reader/dataset/options_of.h"

namespace sluice {

struct Tuning {
  unsigned threads = 1;
  std::size_t prefetch = kUsualPrefetch;
  std::uint64_t read_ahead_bytes = std::uint64_t{16} << 20;  // bytes in flight
  friend bool operator==(const Tuning&, const Tuning&) = default;
};

class SelfTuning {
 public:
  static constexpr unsigned kGrowAfter = 2;     // intervals in a row
  static constexpr unsigned kShrinkAfter = 40;  // intervals in a row: ten seconds or more
  static constexpr unsigned kTried = 4;  // intervals that measure each number of threads of a trial

  // Each value stays between its least and its most; if these are equal, it never changes.
  SelfTuning(const Tuning& least, const Tuning& most, const Tuning& start)
      : least_(least), most_(most), now_(start) {}

  const Tuning& now() const noexcept { return now_; }
  const Tuning& most() const noexcept { return most_; }
  bool fixed() const noexcept { return least_ == most_; }
  std::uint64_t changes() const noexcept { return changes_; }

  // From now on, at most that many batches are decoded ahead.
  void SetMostPrefetch(std::size_t prefetch) noexcept { most_.prefetch = prefetch; }
  // Begins with kLongPrefetch, which suffices if all samples take about equally long.
  void BeginLong() noexcept { now_.prefetch = std::min(kLongPrefetch, most_.prefetch); }
  // Learns from the loader's measurements since the last call. Returns whether now() changed.
  bool Learn(const LoaderStats& interval);

 private:
  // Batches a second over some intervals.
  struct Pace {
    unsigned intervals = 0;
    double batches = 0;
    double seconds = 0;
    void Add(const LoaderStats& interval);
    bool Enough() const { return intervals >= kTried; }
    double Rate() const { return batches / seconds; }
  };
  enum class Trial {
    kBefore,  // measures the present number of threads, while there is a sign of too many
    kFewer,   // measures one thread less
    kAgain,   // measures the former number again
    kOver,    // no trial follows
  };

  bool Grow(Bound bound, const LoaderStats& interval);
  bool Shrink(const LoaderStats& interval);
  bool Try(const LoaderStats& interval);
  bool ContinueWith(unsigned threads, Trial next);

  Tuning least_;
  Tuning most_;
  Tuning now_;
  Bound last_ = Bound::kTooEarly;
  unsigned streak_ = 0;  // intervals in a row bound by `last_`, since the last change
  std::uint64_t changes_ = 0;

  Trial trial_ = Trial::kBefore;
  bool settling_ = false;  // threads have just changed: the next interval does not count
  Pace before_;
  Pace fewer_;
  Pace again_;
};

// The numbers that a loader begins with, and the bounds between which it tunes them, for options as
// the user gave them.
SelfTuning TuningFor(const LoaderOptions& options);

}  // namespace sluice
