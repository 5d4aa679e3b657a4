#include "reader/reading/make_block_source.h"

#include "reader/reading/direct/direct_blocks.h"
#include "reader/reading/mapped_blocks.h"
#include "reader/reading/remote_blocks.h"

namespace sluice {

std::unique_ptr<BlockSource> MakeBlockSource(DatasetState& dataset, const LoaderOptions& options,
                                             const FieldChoice& choice, const PictureCache* kept,
                                             DirectFiles* direct, std::uint64_t most_open,
                                             const std::atomic<bool>& give_up) {
  if (dataset.table.remote != nullptr) {
    return std::make_unique<RemoteBlocks>(dataset, options, choice, kept, most_open, give_up);
  }
  if (direct == nullptr) {
    return std::make_unique<MappedBlocks>(dataset, choice, kept, give_up,
                                          BlocksBehind::For(dataset, options));
  }
  const bool one_at_a_time = options.order.shuffle == Shuffle::kSequential;
  return std::make_unique<DirectBlocks>(dataset, choice, kept, *direct, one_at_a_time, give_up);
}

}  // namespace sluice
