// One epoch of this rank: its order and its size.
#pragma once

#include <sluice/loader_options.h>

#include "reader/dataset/sample_list_state.h"
#include "reader/order/deal.h"
#include "reader/order/order.h"
#include "reader/order/shape.h"

namespace sluice {

// The options that decide the order, and those that decide this rank's share of it.
OrderParameters OrderParametersOf(const LoaderOptions& options, std::uint64_t epoch = 0);
DealOptions DealOptionsOf(const LoaderOptions& options);
// The plan of a mixture with weights; null if the loader does not play one.
std::shared_ptr<const MixturePlan> MixturePlanOf(const LoaderOptions& options);

struct RankEpoch {
  RankEpoch(const DatasetShape& shape, const LoaderOptions& options, const Deal& deal,
            std::uint64_t number, StopFlag give_up = nullptr)
      : epoch(number),
        size(deal.SizeOf(number)),
        order(shape, With(OrderParametersOf(options, number), give_up), number,
              PartOf(options, deal, number, give_up)) {}

  static OrderParameters With(OrderParameters options, StopFlag give_up) {
    options.give_up = give_up;
    return options;
  }

  static OrderPart PartOf(const LoaderOptions& options, const Deal& deal, std::uint64_t number,
                          StopFlag give_up) {
    if (const auto& lists = options.order.batches.lists()) {
      const auto batches = lists->Of(number);
      return ListPart{batches->samples, batches->begins};
    }
    if (options.ranks.by_shards) return ShardPart{deal.ShardsOf(number)};
    if (options.order.samples.all()) return {};
    if (auto plan = MixturePlanOf(options)) return MixturePart{std::move(plan)};
    return ListPart{Draw(options.order.samples.state()->draw, options.seed, number, give_up)};
  }

  std::uint64_t epoch;
  EpochSize size;
  EpochOrder order;
};

// --- Upper bounds on the blocks that an epoch keeps open, and on its memory.

// The blocks and samples that are open for shuffling at once on this rank.
struct OpenWindow {
  std::uint64_t blocks = 0;
  std::uint64_t samples = 0;
  static OpenWindow Of(const DatasetShape& shape, const LoaderOptions& options);
};
// The blocks of an epoch's tail if several ranks share it, otherwise 0. A shared tail's blocks stay
// open to its end, because no rank knows how many of a block's samples are its own.
std::uint64_t SharedTailBlocks(const DatasetShape& shape, const LoaderOptions& options);
// The bytes of blocks that batches in the ring, or the one being planned, may still need.
std::uint64_t RingWindowBytes(const DatasetShape& shape, const LoaderOptions& options);
// The bytes of an average block.
inline std::uint64_t MeanBlockBytes(const DatasetShape& shape) noexcept {
  return shape.blocks() == 0 ? 0 : CeilDiv(shape.bytes(), shape.blocks());
}
// The bytes of one epoch's order, with `window_samples` open for shuffling.
std::uint64_t OrderBytes(const DatasetShape& shape, const LoaderOptions& options,
                         std::uint64_t window_samples);

}  // namespace sluice
