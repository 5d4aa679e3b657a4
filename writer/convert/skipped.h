// skipped.tsv: the sources that gave no sample, for people and for scripts.
#pragma once

#include <string>

#include <sluice/convert.h>

namespace sluice {

// A line of headings, then one for each file: path, reason, and "broken" or "passed over". With
// Truncated::kWarn also the files that gave a sample although they end early: "truncated". Sorted
// by the bytes of the paths. Cells are escaped as in ToTsvCell().
std::string SkippedTable(const ConvertSummary& summary, const ConvertOptions& options);

}  // namespace sluice
