// skipped.tsv: the sources that became no sample, for people and for scripts.
#pragma once

#include <string>
#include <vector>

#include <sluice/convert.h>

namespace sluice {

// A line of headings, then one for each file: path, reason, and "broken" or "passed over"; in the
// order of the paths' bytes. Cells are escaped as ToTsvCell() does.
std::string SkippedTable(const std::vector<LeftOut>& broken,
                         const std::vector<LeftOut>& passed_over);

}  // namespace sluice
