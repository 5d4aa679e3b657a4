// Checks that a point to resume from fits a loader's order.
#pragma once

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_facts.h"

namespace sluice {

// The resume point that describes the order, at the beginning of epoch 0.
ResumePoint StartOf(const DatasetFacts& dataset, const LoaderOptions& options);

// Throws Error(kInvalidArgument), which says what to set, unless `point` was taken from the order
// that `start` describes and lies between two batches of `global_batch` samples. `positions`: of
// the point's epoch, over all ranks.
void CheckResume(const ResumePoint& point, const ResumePoint& start, std::uint64_t global_batch,
                 std::uint64_t positions);

}  // namespace sluice
