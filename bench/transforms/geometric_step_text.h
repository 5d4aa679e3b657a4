// Steps that move pixels, as they are written on a command line: "rrc:224", "crop:32+4:reflect".
#pragma once

#include <optional>
#include <string>

#include <sluice/transform.h>

namespace sluice::bench {

// The step of that name with what stands behind its colon ("" for none); nothing for a name that is
// no such step. Throws cli::UsageError.
std::optional<Transform> ParseGeometricStep(const std::string& name, const std::string& value);

}  // namespace sluice::bench
