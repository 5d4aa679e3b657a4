// What is written of transforms on a command line, beside their steps (<sluice/parse_pipeline.h>).
#pragma once

#include <string>
#include <vector>

#include <sluice/transform.h>

namespace sluice::bench {

// "160,192@16": 160 x 160 from epoch 0 on, 192 x 192 from epoch 16. Throws cli::UsageError.
std::vector<OutputSize> ParseSizes(const std::string& text);

// What --help says of the steps.
std::string TransformHelp();

}  // namespace sluice::bench
