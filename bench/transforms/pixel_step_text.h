// Steps that change pixels, as they are written on a command line: "jitter:0.4/0.4/0.4",
// "erase:0.5".
#pragma once

#include <optional>
#include <string>

#include <sluice/transform.h>

namespace sluice::bench {

// The step of that name with what stands behind its colon ("" for none); nothing for a name that is
// no such step. Throws cli::UsageError.
std::optional<Transform> ParsePixelStep(const std::string& name, const std::string& value);

}  // namespace sluice::bench
