// One epoch of this rank: its order and its size.
#pragma once

#include <sluice/loader_options.h>

#include "reader/dataset/sample_list_state.h"
#include "reader/order/deal.h"
#include "reader/order/order.h"

namespace sluice {

// The parts of the options that make up the order, and the share of this rank.
OrderParameters OrderParametersOf(const LoaderOptions& options);
DealOptions DealOptionsOf(const LoaderOptions& options);
// Of a mixture with weights; else null.
std::shared_ptr<const MixturePlan> MixturePlanOf(const LoaderOptions& options);

struct RankEpoch {
  RankEpoch(const DatasetShape& shape, const LoaderOptions& options, const Deal& deal,
            std::uint64_t number, GiveUp give_up = nullptr)
      : epoch(number),
        size(deal.SizeOf(number)),
        order(shape, With(OrderParametersOf(options), give_up), number,
              PartOf(options, deal, number, give_up)) {}

  static OrderParameters With(OrderParameters options, GiveUp give_up) {
    options.give_up = give_up;
    return options;
  }

  static OrderPart PartOf(const LoaderOptions& options, const Deal& deal, std::uint64_t number,
                          GiveUp give_up) {
    if (const auto& lists = options.order.batches.lists())
      return ListPart{lists->Of(number)->samples};
    if (options.ranks.by_shards) return ShardPart{deal.ShardsOf(number)};
    if (options.order.samples.all()) return {};
    if (auto plan = MixturePlanOf(options)) return MixturePart{std::move(plan)};
    return ListPart{Draw(options.order.samples.state()->draw, options.seed, number, give_up)};
  }

  std::uint64_t epoch;
  EpochSize size;
  EpochOrder order;
};

}  // namespace sluice
