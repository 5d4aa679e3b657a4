// A pretend training step, and pretend decoding.
#pragma once

#include <sluice/user_function.h>

namespace sluice::bench {

struct TrainingStep {
  double milliseconds = 0;  // 0: none
  // Uses a CPU for that long instead of sleeping, as training on this machine's CPUs does. The time
  // is CPU time, so that it is the same work on a busy machine as on an idle one.
  bool busy = false;
};

void Train(const TrainingStep& step);

struct PretendDecoding {
  double microseconds = 0;  // more for each sample, in which its thread sleeps; 0: none
  double slow = 1;          // every hundredth sample takes so many times as long
};

// Call it before threads are made: it makes sleeps of theirs end when they should.
SampleFunction Decoding(const PretendDecoding& pretended);

}  // namespace sluice::bench
