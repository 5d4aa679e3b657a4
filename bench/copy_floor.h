// The floor no loader can go below: a bare loop of copies of the payloads a raw dataset's epoch is
// made of, in the loader's order, into a ring of batches as large as the loader's, by as many
// threads.
#pragma once

#include "bench/epoch_run.h"

namespace sluice::bench {

// Throws cli::UsageError where the dataset's images are not stored raw.
void CheckCopyFloor(const Dataset& dataset);

// `threads` copy, each one whole batches. Throws Interrupted.
CopyFloor MeasureCopyFloor(const EpochOptions& options, unsigned threads,
                           const std::stop_token& stop);

}  // namespace sluice::bench
