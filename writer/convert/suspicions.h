// Warnings about a source that can be converted but is probably not what the user meant.
#pragma once

#include <sluice/convert.h>

#include "writer/source/list/source_list.h"

namespace sluice {

// Warns of a dataset that is larger than its sources, with what would make it smaller. Call it once
// both sizes are known.
void AddGrowth(const ConvertOptions& options, ConvertSummary& summary);

// "a.jpg, b.jpg and c.jpg"
std::string ExamplesText(const SomeImages& images);

// Adds warnings to `summary.warnings` about its class counts, small images, annotations of turned
// images, and duplicates. `all`: the summary is of all samples, not of the first few.
void AddSuspicions(const SourceList& sources, const ConvertOptions& options, bool all,
                   ConvertSummary& summary);

}  // namespace sluice
