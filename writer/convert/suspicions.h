// Warnings about a source that can be converted but is probably not what the user meant.
#pragma once

#include <sluice/convert.h>

namespace sluice {

// Adds warnings to `summary.warnings` about its class counts, small images and duplicates.
void AddSuspicions(const ConvertOptions& options, ConvertSummary& summary);

}  // namespace sluice
