// Making blocks resident before the decoding threads touch them.
#pragma once

#include <vector>

#include "reader/dataset_state.h"

namespace sluice {

// Reads the blocks (by number in the dataset) into the page cache and into this process's page
// tables, block by block, and returns when that is done. It is a hint: what cannot be opened or
// read shows when it is used. Returns the blocks' bytes.
std::uint64_t ReadAhead(DatasetState& dataset, const std::vector<std::uint64_t>& blocks);

}  // namespace sluice
