// Making blocks resident before the decoding threads touch them.
#pragma once

#include <atomic>
#include <vector>

#include "reader/cache/decoded_store.h"
#include "reader/dataset_state.h"
#include "reader/pipeline/field_choice.h"

namespace sluice {

// Reads the blocks (by number in the dataset) into the page cache and into this process's page
// tables, block by block, and returns when that is done. It is a hint: what cannot be opened or
// read shows when it is used. Where fields are left out, or all of a block's pictures are
// in the store (null for none), only the others' parts of a block are read. Ends early where
// `give_up` is set meanwhile. Returns the bytes that were read.
std::uint64_t ReadAhead(DatasetState& dataset, const FieldChoice& choice, const DecodedStore* store,
                        const std::vector<std::uint64_t>& blocks, const std::atomic<bool>& give_up);

// Takes a block out of this process's page tables, and where `drop` says so out of the page cache.
// The kernel maps up to 64 KiB around a page that is touched: those of the blocks beside it go
// along where they may.
struct Beside {
  bool before = false;
  bool behind = false;
};
void ForgetBlock(DatasetState& dataset, std::uint64_t block, Beside beside, bool drop);

}  // namespace sluice
