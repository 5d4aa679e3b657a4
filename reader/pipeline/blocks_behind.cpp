#include "reader/pipeline/blocks_behind.h"

#include "reader/pipeline/mapped_read_ahead.h"

namespace sluice {

BlocksBehind::BlocksBehind(DatasetState& dataset, const LoaderOptions& options)
    : dataset_(dataset),
      behind_(options.shuffle == Shuffle::kRandom || options.direct ? Behind::kKeep
                                                                    : options.behind),
      one_at_a_time_(options.shuffle == Shuffle::kSequential),
      ring_(1 + options.prefetch + options.hold) {}

void BlocksBehind::Open(std::uint64_t block, std::uint64_t rows) {
  if (one_at_a_time_) {  // a rank gets some of its samples only
    CloseAll();
    rows = 0;
  }
  open_.insert_or_assign(block, rows == 0 ? ~std::uint64_t{0} : rows);
}

void BlocksBehind::Use(std::uint64_t block) {
  const auto found = open_.find(block);
  if (found == open_.end() || --found->second > 0) return;
  open_.erase(found);
  closed_.push_back(block);
  ++waits_[block];
}

void BlocksBehind::CloseAll() {
  for (const auto& [block, rows] : open_) {
    closed_.push_back(block);
    ++waits_[block];
  }
  open_.clear();
}

void BlocksBehind::EndBatch() {
  if (!active()) return;
  waiting_.push_back(std::move(closed_));
  closed_.clear();
  if (waiting_.size() <= ring_) return;
  const std::vector<std::uint64_t> over = std::move(waiting_.front());
  waiting_.pop_front();
  for (const std::uint64_t block : over) {
    const auto found = waits_.find(block);
    if (--found->second > 0) continue;  // it was opened and closed once more since
    waits_.erase(found);
    if (open_.count(block) == 0) LetGo(block);
  }
}

bool BlocksBehind::Needed(std::uint64_t block) const {
  return open_.count(block) > 0 || waits_.count(block) > 0;
}

void BlocksBehind::LetGo(std::uint64_t block) const {
  // Pages of the neighbours that the kernel mapped along with this one's go, too, unless somebody
  // needs them.
  const std::uint64_t last = dataset_.shape.blocks() - 1;
  ForgetBlock(dataset_, block,
              {block == 0 || !Needed(block - 1), block == last || !Needed(block + 1)},
              behind_ == Behind::kDrop);
}

}  // namespace sluice
