#include "bench/training_step.h"

#include <chrono>
#include <ctime>
#include <thread>

namespace sluice::bench {
namespace {

double ThreadCpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

}  // namespace

void Train(const TrainingStep& step) {
  if (step.milliseconds <= 0) return;
  if (!step.busy) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(step.milliseconds));
    return;
  }
  const double end = ThreadCpuMilliseconds() + step.milliseconds;
  volatile unsigned work = 1;
  while (ThreadCpuMilliseconds() < end) {
    for (int i = 0; i < 1000; ++i)
      work = work * 1664525 + 1013904223;
  }
}

}  // namespace sluice::bench
