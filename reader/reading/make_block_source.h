// The choice among the sources of blocks: what LoaderOptions::storage says.
#pragma once

#include <atomic>
#include <memory>

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/reading/block_source.h"
#include "reader/reading/decoded_cache.h"
#include "reader/reading/direct/direct_files.h"

namespace sluice {

// `options` are checked ones; `most_open`: for RemoteBlocks; `kept` may be null, and `direct` is
// null unless they say Direct. Everything passed by reference or pointer must outlive the source.
std::unique_ptr<BlockSource> MakeBlockSource(DatasetState& dataset, const LoaderOptions& options,
                                             const FieldChoice& choice, const PictureCache* kept,
                                             DirectFiles* direct, std::uint64_t most_open,
                                             const std::atomic<bool>& give_up);

}  // namespace sluice
