// Warnings about a source that could be converted and is probably not what was meant.
#pragma once

#include <sluice/convert.h>

namespace sluice {

// Adds to `summary.warnings` what its counts of classes, small images and duplicates give reason
// to.
void AddSuspicions(const ConvertOptions& options, ConvertSummary& summary);

}  // namespace sluice
