// skipped.tsv: the sources that became no sample, for people and for scripts.
#pragma once

#include <string>

#include <sluice/convert.h>

namespace sluice {

// A line of headings, then one for each file: path, reason, and "broken" or "passed over"; with
// Truncated::kWarn also those that became a sample though they end early, "truncated". In the order
// of the paths' bytes. Cells are escaped as ToTsvCell() does.
std::string SkippedTable(const ConvertSummary& summary, const ConvertOptions& options);

}  // namespace sluice
