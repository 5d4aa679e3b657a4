// One epoch as this rank plays it: its order and its size.
#pragma once

#include "reader/order/deal.h"
#include "reader/order/order.h"
#include "reader/pipeline/checked_options.h"

namespace sluice {

struct EpochPlan {
  EpochPlan(const DatasetShape& shape, const LoaderOptions& options, const Deal& deal,
            std::uint64_t number)
      : epoch(number),
        size(deal.SizeOf(number)),
        order(options.shards_per_rank
                  ? EpochOrder(shape, deal.ShardsOf(number), OrderOptionsOf(options), number)
                  : EpochOrder(shape, OrderOptionsOf(options), number)) {}

  std::uint64_t epoch;
  EpochSize size;
  EpochOrder order;
};

}  // namespace sluice
