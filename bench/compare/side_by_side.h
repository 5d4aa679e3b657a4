// Comparisons of several sources, and by several numbers of threads, as one result.
#pragma once

#include <string>
#include <vector>

#include "bench/compare/measure.h"

namespace sluice::bench {

struct SideBySide {
  std::vector<CompareOptions> options;  // of each comparison
  std::vector<Comparison> comparisons;  // not empty
};

// One comparison after the other. Each source has a folder of its own for its formats. How close
// pixels are is measured once for each source, since threads do not change them.
SideBySide CompareSeveral(const CompareOptions& options,
                          const std::vector<std::filesystem::path>& sources,
                          const std::vector<unsigned>& threads, const CompareHooks& hooks);

// Each comparison, then the rates of all; of one alone, only that.
std::string TextOf(const SideBySide& all);
nlohmann::ordered_json JsonOf(const SideBySide& all);

}  // namespace sluice::bench
