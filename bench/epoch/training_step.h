// A pretend training step.
#pragma once

namespace sluice::bench {

struct TrainingStep {
  double milliseconds = 0;  // 0: none
  // Uses a CPU for that long instead of sleeping, as training on this machine's CPUs does. The time
  // is CPU time, so that it is the same work on a busy machine as on an idle one.
  bool busy = false;
};

void Train(const TrainingStep& step);

}  // namespace sluice::bench
