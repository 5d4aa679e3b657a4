// The time that the threads of a stage have spent waiting; threads that wait right now count, too.
// Not thread-safe: the clock's owner guards it by a mutex.
#pragma once

#include <chrono>

namespace sluice {

using Clock = std::chrono::steady_clock;

inline double SecondsBetween(Clock::time_point begin, Clock::time_point end) noexcept {
  return std::chrono::duration<double>(end - begin).count();
}

class WaitClock {
 public:
  // Forgets all waiting before `now`. Threads that wait now count from `now` on.
  void Start(Clock::time_point now) noexcept {
    origin_ = now;
    ended_ = begun_ = 0;
  }
  // A thread begins to wait.
  void Begin(Clock::time_point now) noexcept {
    ++waiting_;
    begun_ += At(now);
  }
  // A thread that has waited since `begun` continues.
  void End(Clock::time_point begun, Clock::time_point now) noexcept {
    --waiting_;
    begun_ -= At(begun);
    ended_ += At(now) - At(begun);
  }
  double Seconds(Clock::time_point now) const noexcept {
    return ended_ + waiting_ * At(now) - begun_;
  }

 private:
  // Seconds since the origin; 0 for moments before it.
  double At(Clock::time_point moment) const noexcept {
    return moment < origin_ ? 0 : SecondsBetween(origin_, moment);
  }
  Clock::time_point origin_;
  unsigned waiting_ = 0;
  double begun_ = 0;  // the sum of the times at which the waiting threads began
  double ended_ = 0;  // seconds of the waits that have ended
};

}  // namespace sluice
