// How many threads, how long a ring and how much reading ahead: what LoaderOptions leaves to the
// loader, decided by what it measures.
//
// Fed with what happened in one interval after the other, each of at least 8 batches. Two intervals
// in a row that are bound by the same thing give more of what would help: by decoding, a thread; by
// the ring, a batch; by storage, twice the bytes in flight. A long time bound by the trainer, with
// threads that the others could stand in for, takes a thread away. The ring and the depth never
// shrink, and threads not below a number that was once found too small, so that there is an end to
// changes whatever comes: it cannot oscillate.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sluice/loader_stats.h>

namespace sluice {

struct Tuning {
  unsigned threads = 1;
  std::size_t prefetch = 2;
  std::uint64_t read_ahead_bytes = std::uint64_t{16} << 20;  // in flight
  friend bool operator==(const Tuning&, const Tuning&) = default;
};

class SelfTuning {
 public:
  static constexpr unsigned kGrowAfter = 2;     // intervals in a row
  static constexpr unsigned kShrinkAfter = 40;  // the same: ten seconds or more

  // Each between its least and its most; where these are equal, it is left alone.
  SelfTuning(const Tuning& least, const Tuning& most, const Tuning& start)
      : least_(least), most_(most), now_(start) {}

  const Tuning& now() const noexcept { return now_; }
  const Tuning& most() const noexcept { return most_; }
  bool fixed() const noexcept { return least_ == most_; }
  std::uint64_t changes() const noexcept { return changes_; }

  // Takes what happened since the last call. Whether anything is to change.
  bool Learn(const LoaderStats& interval);

 private:
  bool Grow(Bound bound);
  bool Shrink(const LoaderStats& interval);

  Tuning least_;
  const Tuning most_;
  Tuning now_;
  Bound last_ = Bound::kTooEarly;
  unsigned streak_ = 0;  // intervals bound by `last_`, since a change
  std::uint64_t changes_ = 0;
};

}  // namespace sluice
