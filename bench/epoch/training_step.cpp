#include "bench/epoch/training_step.h"

#include <chrono>
#include <thread>

#include "bench/machine/process_usage.h"

namespace sluice::bench {

void Train(const TrainingStep& step) {
  if (step.milliseconds <= 0) return;
  if (!step.busy) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(step.milliseconds));
    return;
  }
  const double end = ThreadCpuSeconds() + step.milliseconds / 1e3;
  volatile unsigned work = 1;
  while (ThreadCpuSeconds() < end) {
    for (int i = 0; i < 1000; ++i)
      work = work * 1664525 + 1013904223;
  }
}

}  // namespace sluice::bench
