// Making blocks resident before the decoding threads touch them.
#pragma once

#include <vector>

#include "reader/dataset_state.h"
#include "reader/pipeline/field_choice.h"

namespace sluice {

// Reads the blocks (by number in the dataset) into the page cache and into this process's page
// tables, block by block, and returns when that is done. It is a hint: what cannot be opened or
// read shows when it is used. Where fields are left out, only the others' parts of a block are
// read. Returns the bytes.
std::uint64_t ReadAhead(DatasetState& dataset, const FieldChoice& choice,
                        const std::vector<std::uint64_t>& blocks);

}  // namespace sluice
