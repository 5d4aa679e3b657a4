// Training, loading, and both together: the cost of a pipeline compared with an ideal one.
//
// If loading runs ahead of training, an epoch takes as long as the slower of the two, not their
// sum. Any more time is lost to unevenness, to a ring that is too short, or because both need the
// same processors.
#pragma once

#include "bench/epoch/run.h"

namespace sluice::bench {

struct PipelineCost {
  double training_seconds = 0;  // an epoch's steps, always on one batch that is ready
  double loading_seconds = 0;   // an epoch without steps
  double epoch_seconds = 0;     // as measured with both
  double ideal_seconds() const noexcept {
    return training_seconds > loading_seconds ? training_seconds : loading_seconds;
  }
};

// For a run whose options have a step. After a short warm-up, plays an epoch without the step, and
// up to 50 of its steps without loading.
PipelineCost MeasurePipelineCost(const EpochOptions& options, const EpochsRun& run,
                                 const std::stop_token& stop);

}  // namespace sluice::bench
