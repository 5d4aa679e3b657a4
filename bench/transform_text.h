// A transform as it is written on a command line: "rrc:224", "short:256,center:224".
#pragma once

#include <string>

#include <sluice/transform.h>

namespace sluice::bench {

// Steps joined by commas: rrc:S, resize:S, short:N, center:S, crop:S, crop:S+P (P pixels of
// padding), flip, none; S is N or WxH; then steps that change pixels (pixel_step_text.h). Throws
// cli::UsageError.
Pipeline ParseTransform(const std::string& text);

// What --help says of it.
extern const char* const kTransformHelp;

}  // namespace sluice::bench
