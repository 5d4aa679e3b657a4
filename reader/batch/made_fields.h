// The fields that the user's functions, and OneHot, add to batches.
#pragma once

#include <optional>
#include <vector>

#include <sluice/schema.h>

#include "reader/dataset/dataset_state.h"

namespace sluice {

// Throws Error(kInvalidArgument or kLimit) for fields that batches cannot have beside the
// dataset's. An array may be as large as an image, because it is not on disk.
void CheckMadeFields(const DatasetState& dataset, const std::vector<Field>& made,
                     const std::optional<Field>& target);

}  // namespace sluice
