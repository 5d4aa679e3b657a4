#include "bench/epoch/training_step.h"

#include <chrono>
#include <thread>

#include <sys/prctl.h>

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

SampleFunction Decoding(const PretendDecoding& pretended) {
  constexpr std::uint64_t kSlow = 100;  // one of so many
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  return [pretended](MutableSample& sample) {
    const double times = sample.index() % kSlow == 0 ? pretended.slow : 1;
    std::this_thread::sleep_for(
        std::chrono::duration<double, std::micro>(times * pretended.microseconds));
  };
}

}  // namespace sluice::bench
