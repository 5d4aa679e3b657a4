// How long a thread spends on each part of making rows, for a LoaderTrace that times parts.
//
// Parts lie within each other: a step lies within the making of a picture, and that within the
// row's. A part's time leaves out the parts within it. So the times add up to that of the outermost
// part, and no time counts twice.
#pragma once

#include <chrono>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/loader_trace.h>

namespace sluice {

// One thread's times.
class PartTimes {
 public:
  // Returns the times, and begins again with none.
  std::vector<PartTime> Take() { return std::exchange(times_, {}); }

 private:
  friend class PartClock;

  std::vector<PartTime> times_;
  double inner_ = 0;  // seconds of the parts that have ended within the innermost one under way
};

// Adds the time of its own life to a part. Without `times`, it does nothing.
class PartClock {
 public:
  // `part` must outlive the clock. `step`: whether it is a step of the transform.
  PartClock(PartTimes* times, std::string_view part, bool step = false)
      : times_(times), part_(part), step_(step) {
    if (times_ != nullptr) Begin();
  }
  ~PartClock() {
    if (times_ != nullptr) End();
  }
  PartClock(const PartClock&) = delete;
  PartClock& operator=(const PartClock&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  void Begin() {
    before_ = std::exchange(times_->inner_, 0);
    begin_ = Clock::now();
  }
  void End() {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    try {
      AddPartTime(times_->times_, {std::string(part_), step_, seconds - times_->inner_});
    } catch (const std::bad_alloc&) {  // a time is missing, which does no harm
    }
    times_->inner_ = before_ + seconds;
  }

  PartTimes* const times_;
  const std::string_view part_;
  const bool step_;
  double before_ = 0;  // times_->inner_ of the part around this one
  Clock::time_point begin_;
};

}  // namespace sluice
