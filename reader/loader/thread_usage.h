// The CPU time and page faults of the calling thread. Asked for only now and then, because asking
// costs more than decoding a small sample.
#pragma once

#include <ctime>

#include <sys/resource.h>

#include <sluice/loader_stats.h>

#include "reader/decoding/stage_clock.h"

namespace sluice {

class ThreadUsage {
 public:
  // Asks again if the last time was at least `kEvery` ago.
  void Sample(Clock::time_point now) noexcept {
    constexpr std::chrono::milliseconds kEvery{50};
    if (now - asked_ < kEvery) return;
    asked_ = now;
    rusage usage{};
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return;
    cpu_seconds_ = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
    major_faults_ = static_cast<std::uint64_t>(usage.ru_majflt);
  }
  // Adds the use since the last call.
  void MoveTo(LoaderStats& stats) noexcept {
    stats.decode_cpu_seconds += cpu_seconds_ - moved_cpu_seconds_;
    stats.decode_major_faults += major_faults_ - moved_major_faults_;
    moved_cpu_seconds_ = cpu_seconds_;
    moved_major_faults_ = major_faults_;
  }

 private:
  static double Seconds(const timeval& time) noexcept {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  Clock::time_point asked_;
  double cpu_seconds_ = 0;
  double moved_cpu_seconds_ = 0;
  std::uint64_t major_faults_ = 0;
  std::uint64_t moved_major_faults_ = 0;
};

}  // namespace sluice
