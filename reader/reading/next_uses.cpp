#include "reader/reading/next_uses.h"

#include <algorithm>

#include "reader/dataset/rank_epoch.h"

namespace sluice {

std::vector<std::uint64_t> NextUses(const DatasetShape& shape, const LoaderOptions& options,
                                    std::uint64_t epoch, GiveUp give_up) {
  std::vector<std::uint64_t> uses(shape.blocks(), UINT64_MAX);
  if (options.ranks.by_shards || options.order.shuffle == Shuffle::kRandom) return uses;
  const std::uint64_t positions =
      options.order.samples.all() ? shape.samples() : options.order.samples.size();
  EpochOrder order(shape, RankEpoch::With(OrderParametersOf(options), give_up), epoch,
                   RankEpoch::PartOf(options, Deal(shape, DealOptionsOf(options)), epoch, give_up));
  std::vector<std::uint64_t> opened;
  for (std::uint64_t p = 0; p < positions; ++p) {
    if (p % 4096 == 0 && give_up != nullptr && give_up->load(std::memory_order_relaxed))
      throw OrderGivenUp();
    opened.clear();
    order.At(p, opened);
    for (const std::uint64_t block : opened)
      uses[block] = std::min(uses[block], epoch * positions + p);
  }
  return uses;
}

}  // namespace sluice
