// A transform as it is written on a command line: "rrc:224", "short:256,center:224".
#pragma once

#include <string>
#include <vector>

#include <sluice/transform.h>

namespace sluice::bench {

// Steps joined by commas, or "none": those of geometric_step_text.h, pixel_step_text.h and
// batch_step_text.h. Throws cli::UsageError.
Pipeline ParseTransform(const std::string& text);

// "160,192@16": 160 x 160 from epoch 0 on, 192 x 192 from epoch 16. Throws cli::UsageError.
std::vector<OutputSize> ParseSizes(const std::string& text);

// What --help says of it.
extern const char* const kTransformHelp;

}  // namespace sluice::bench
