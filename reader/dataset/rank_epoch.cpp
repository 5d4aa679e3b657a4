#include "reader/dataset/rank_epoch.h"

namespace sluice {

OrderParameters OrderParametersOf(const LoaderOptions& options) {
  return {options.order.shuffle, options.seed, options.order.lanes, options.order.window_bytes};
}

std::shared_ptr<const MixturePlan> MixturePlanOf(const LoaderOptions& options) {
  if (options.order.samples.all()) return nullptr;
  const auto* const mixture = std::get_if<MixtureDraw>(&options.order.samples.state()->draw);
  return mixture == nullptr ? nullptr : mixture->plan;
}

DealOptions DealOptionsOf(const LoaderOptions& options) {
  DealOptions deal;
  deal.batch_size = options.batch_size;
  deal.rank = options.ranks.rank;
  deal.world_size = options.ranks.world_size;
  deal.last_batch = options.ranks.last_batch;
  deal.by_shards = options.ranks.by_shards;
  deal.seed = options.seed;
  deal.lists = options.order.batches.lists();
  if (!options.order.samples.all()) deal.listed = options.order.samples.size();
  return deal;
}

}  // namespace sluice
