// Training, loading, and both: what a pipeline costs beside what an ideal one would.
//
// With loading ahead of the training an epoch takes as long as the slower of the two, not their
// sum. What it takes beyond that is lost to unevenness, to too short a ring, or to both wanting the
// same processors.
#pragma once

#include "bench/epoch/run.h"

namespace sluice::bench {

struct PipelineCost {
  double training_seconds = 0;  // an epoch's steps, the batch always the same one and at hand
  double loading_seconds = 0;   // an epoch without steps
  double epoch_seconds = 0;     // as measured with both
  double ideal_seconds() const noexcept {
    return training_seconds > loading_seconds ? training_seconds : loading_seconds;
  }
};

// Of a run whose options have a step. Plays an epoch without it after a short warm-up, and up to 50
// of its steps without loading.
PipelineCost MeasurePipelineCost(const EpochOptions& options, const EpochsRun& run,
                                 const std::stop_token& stop);

}  // namespace sluice::bench
