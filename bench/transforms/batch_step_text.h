// Steps for labels and whole batches, as they are written on a command line: "onehot:0.1",
// "mixup:0.2".
#pragma once

#include <optional>
#include <string>

#include <sluice/transform.h>

namespace sluice::bench {

// As ParsePixelStep.
std::optional<Transform> ParseBatchStep(const std::string& name, const std::string& value);

}  // namespace sluice::bench
