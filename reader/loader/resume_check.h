// What a point to resume from says of a loader's order, and whether the two fit.
#pragma once

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_state.h"

namespace sluice {

// The order's side of a resume point, at the beginning of epoch 0.
ResumePoint StartOf(const DatasetState& dataset, const LoaderOptions& options);

// Throws Error(kInvalidArgument), with what to set, unless `point` was taken from the order that
// `start` describes and lies between two batches of `global_batch` samples.
// `positions`: of the point's epoch, over all ranks.
void CheckResume(const ResumePoint& point, const ResumePoint& start, std::uint64_t global_batch,
                 std::uint64_t positions);

}  // namespace sluice
