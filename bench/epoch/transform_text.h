// Parses the parts of transforms on a command line that are not steps (for steps:
// <sluice/parse_pipeline.h>).
#pragma once

#include <string>
#include <vector>

#include <sluice/transform.h>

namespace sluice::bench {

// "160,192@16": 160 x 160 from epoch 0 on, 192 x 192 from epoch 16. Throws cli::UsageError.
std::vector<OutputSize> ParseSizes(const std::string& text);

// The text about steps in --help.
std::string TransformHelp();

}  // namespace sluice::bench
