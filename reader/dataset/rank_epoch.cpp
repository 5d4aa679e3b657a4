// The options that an epoch's order and deal need, and upper bounds on what an epoch keeps open.
// The block sources and memory_bound.cpp build on these bounds.
//
// The bounds repeat rules of reader/order: the length of a window, the tail, the number of orders
// that a mixture keeps, and the largest table of a Permutation (kTableLimit). If such a rule
// changes there, change it here, too. A list or a mixture may have any block in the tail, so a
// shared tail counts all blocks then.
#include "reader/dataset/rank_epoch.h"

#include <algorithm>

#include "reader/dataset/options_of.h"
#include "reader/order/mixture_order.h"
#include "reader/order/sample_draw.h"

namespace sluice {

OrderParameters OrderParametersOf(const LoaderOptions& options, std::uint64_t epoch) {
  return {options.order.shuffle, options.seed, options.order.lanes, options.order.window_bytes,
          PartsIn(options, epoch)};
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
  deal.skip = options.order.skip;
  return deal;
}

namespace {

// The window of a single dataset: the only one, or one of a mixture with weights.
OpenWindow WindowOfOne(const DatasetShape& shape, const LoaderOptions& options) {
  OpenWindow window{shape.blocks(), shape.samples()};
  if (options.order.shuffle == Shuffle::kSequential) {
    window.blocks = std::min<std::uint64_t>(1, shape.blocks());
  } else if (options.order.shuffle == Shuffle::kQuasiRandom) {
    const std::uint64_t lanes = options.ranks.by_shards
                                    ? options.order.lanes
                                    : options.order.lanes / options.ranks.world_size;
    window.blocks =
        std::min(window.blocks, lanes * WindowBlocks(shape, OrderParametersOf(options)));
  }
  window.samples = std::min(window.samples, window.blocks * shape.max_block_samples());
  return window;
}

}  // namespace

OpenWindow OpenWindow::Of(const DatasetShape& shape, const LoaderOptions& options) {
  const std::shared_ptr<const MixturePlan> mixture = MixturePlanOf(options);
  if (mixture == nullptr) return WindowOfOne(shape, options);
  OpenWindow all;
  for (const MixturePlan::Part& part : mixture->parts()) {
    const OpenWindow window = WindowOfOne(part.shape, options);
    all.blocks += window.blocks;
    all.samples += window.samples;
  }
  return all;
}

std::uint64_t SharedTailBlocks(const DatasetShape& shape, const LoaderOptions& options) {
  if (options.order.shuffle != Shuffle::kQuasiRandom || options.ranks.world_size == 1 ||
      options.ranks.by_shards) {
    return 0;
  }
  if (!options.order.samples.all()) return shape.blocks();  // any block may be in the tail
  const std::uint64_t mean = std::max<std::uint64_t>(shape.samples() / shape.blocks(), 1);
  return options.order.lanes * (shape.even() ? 1 : CeilDiv(shape.max_block_samples(), mean));
}

std::uint64_t RingWindowBytes(const DatasetShape& shape, const LoaderOptions& options) {
  const OpenWindow window = OpenWindow::Of(shape, options);
  const std::uint64_t rows = (SlotsOf(options) + 1) * options.batch_size;
  const std::uint64_t windows = 1 + CeilDiv(rows, std::max<std::uint64_t>(window.samples, 1)) +
                                (options.order.shuffle == Shuffle::kSequential ? 1 : 0);
  return std::min(shape.bytes(), windows * window.blocks * MeanBlockBytes(shape));
}

namespace {

// The bytes of the plan, of the permutations of columns and tail, and of each dataset's orders. A
// dataset has one order for each pass through it that some column has not finished.
std::uint64_t OrderBytesOfMixture(const MixturePlan& plan, const LoaderOptions& options) {
  LoaderOptions alone = options;
  alone.order.samples = {};
  std::uint64_t bytes = plan.memory_bytes() + 8 * options.order.lanes + 2 * std::uint64_t{65536};
  for (const MixturePlan::Part& part : plan.parts()) {
    const std::uint64_t samples = part.shape.samples();
    const std::uint64_t orders = MixtureOrder::MostOrders(part, options.order.lanes);
    const bool table = samples < options.order.lanes || options.order.shuffle == Shuffle::kRandom;
    bytes +=
        orders *
        (1024 + (table ? 2 * std::min<std::uint64_t>(samples, 65536)
                       : OrderBytes(part.shape, alone, WindowOfOne(part.shape, options).samples)));
  }
  return bytes;
}

}  // namespace

std::uint64_t OrderBytes(const DatasetShape& shape, const LoaderOptions& options,
                         std::uint64_t window_samples) {
  if (const auto mixture = MixturePlanOf(options)) return OrderBytesOfMixture(*mixture, options);
  const auto& lists = options.order.batches.lists();
  constexpr std::uint64_t kTableLimit = 65536;  // the largest table that Permutation makes
  const std::uint64_t listed = options.order.samples.all() ? 0 : options.order.samples.size();
  const std::uint64_t listed_blocks = std::min(listed, shape.blocks());
  // Blocks that the order keeps an entry for: all blocks of a list; all blocks if their sizes
  // differ; otherwise the last of each shard.
  std::uint64_t noted = shape.even() ? shape.shards().size() : shape.blocks();
  if (listed > 0) noted = listed_blocks;
  return 6 * std::min(shape.blocks(), kTableLimit) + 512 * options.order.lanes +
         2 * std::min(window_samples, shape.samples()) + 24 * listed + 64 * listed_blocks +
         64 * noted + 64 * shape.shards().size() + (lists ? 8 * lists->most_samples() : 0);
}

}  // namespace sluice
