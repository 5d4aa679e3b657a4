// One epoch as this rank plays it: its order and its size.
#pragma once

#include "reader/order/deal.h"
#include "reader/order/order.h"
#include "reader/pipeline/checked_options.h"
#include "reader/sample_list_state.h"

namespace sluice {

struct EpochPlan {
  EpochPlan(const DatasetShape& shape, const LoaderOptions& options, const Deal& deal,
            std::uint64_t number)
      : epoch(number),
        size(deal.SizeOf(number)),
        order(shape, OrderOptionsOf(options), number, PartOf(options, deal, number)) {}

  static OrderPart PartOf(const LoaderOptions& options, const Deal& deal, std::uint64_t number) {
    if (options.shards_per_rank) return ShardPart{deal.ShardsOf(number)};
    if (options.samples.all()) return {};
    return ListPart{Draw(options.samples.state()->draw, options.seed, number)};
  }

  std::uint64_t epoch;
  EpochSize size;
  EpochOrder order;
};

}  // namespace sluice
