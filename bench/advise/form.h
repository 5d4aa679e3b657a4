// The forms of a dataset to choose from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sluice/convert.h>

#include "bench/advise/source_facts.h"

namespace sluice::bench {

struct Form {
  std::string name;              // "packed 500 q90": for a table
  std::string options;           // of `sluice convert` or `sluice transcode`, as they are typed
  ConvertOptions convert;        // of a folder
  bool as_it_is = false;         // the dataset, unchanged
  std::uint32_t preference = 0;  // 0: the most wanted size and quality
};

// For a folder: the size that leaves a crop of `side` pixels its detail (500 for 224), or no
// resizing if nothing is larger, and a smaller size (a short side of 256 for 224). Each as JPEG and
// packed at each of the qualities, most wanted first, and as pixels. Also the sources' own JPEGs.
// For a dataset: as it is, and every form it can be transcoded into.
std::vector<Form> FormsFor(const SourceFacts& facts, std::uint32_t side,
                           const std::vector<int>& qualities);

}  // namespace sluice::bench
