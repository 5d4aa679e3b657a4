#include "bench/order/ranks.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

#include "bench/order/measure.h"
#include "reader/order/deal.h"
#include "reader/order/order.h"
#include "tools/cli/option.h"

namespace sluice::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kLookedAt = 4;            // ranks
constexpr std::uint32_t kMostLanes = 65536;  // of a loader

// What one rank does in its first epoch.
void Draw(const RanksTask& task, unsigned rank, RanksFigures& figures,
          const std::stop_token& stop) {
  const DatasetShape& shape = *task.shape;
  const std::uint64_t heap = HeapBytes();
  const Clock::time_point begin = Clock::now();
  DealOptions options;
  options.batch_size = task.batch;
  options.rank = rank;
  options.world_size = task.ranks;
  options.by_shards = task.by_shards;
  options.seed = task.seed;
  const Deal deal(shape, options);
  const EpochSize size = deal.SizeOf(0);
  OrderPart part;
  if (task.by_shards) part = ShardPart{deal.ShardsOf(0)};
  EpochOrder order(shape, {Shuffle::kQuasiRandom, task.seed, figures.lanes, 0, nullptr}, 0,
                   std::move(part));
  figures.setup_seconds = std::max(figures.setup_seconds, SecondsSince(begin));
  const Clock::time_point drawing = Clock::now();
  std::vector<SampleRef> rows;
  std::vector<std::uint64_t> opened;
  std::uint64_t bytes = 0, drawn = 0;
  const auto block_bytes = static_cast<double>(shape.bytes()) / static_cast<double>(shape.blocks());
  for (std::uint64_t batch = 0; batch < size.batches && drawn < task.most_rows; ++batch) {
    ThrowIfStopped(stop);
    const Deal::OwnRows own = deal.OwnRowsOf(size, batch, deal.RowsOf(size, batch));
    rows.resize(own.count);
    opened.clear();
    order.Run(own.position, own.stride, rows, opened);
    drawn += own.count;
    bytes += opened.size();
    if (batch > 0) continue;
    figures.first_batch_seconds = std::max(figures.first_batch_seconds, SecondsSince(drawing));
    figures.first_batch_bytes =
        std::max(figures.first_batch_bytes,
                 static_cast<std::uint64_t>(static_cast<double>(opened.size()) * block_bytes));
  }
  const std::uint64_t now = HeapBytes();
  figures.memory_bytes = std::max(figures.memory_bytes, now > heap ? now - heap : 0);
  figures.rows = std::max(figures.rows, size.samples);
  figures.fewest = size.least;
  const double whole =
      static_cast<double>(size.samples) / static_cast<double>(std::max<std::uint64_t>(drawn, 1));
  const double read = static_cast<double>(bytes) * std::max(whole, 1.0) /
                      (static_cast<double>(shape.blocks()) / task.ranks);
  figures.read_least = figures.read_least == 0 ? read : std::min(figures.read_least, read);
  figures.read_most = std::max(figures.read_most, read);
}

}  // namespace

RanksFigures SimulateRanks(const RanksTask& task, const std::stop_token& stop) {
  RanksFigures figures;
  const std::uint64_t each = task.by_shards ? 1 : task.ranks;
  const std::uint64_t lanes = (task.lanes + each - 1) / each * each;
  if (lanes > kMostLanes) {
    throw cli::UsageError(std::to_string(task.ranks) +
                          " ranks want as many lanes, and a loader has " +
                          std::to_string(kMostLanes) + " at most");
  }
  if (task.by_shards && task.shape->shards().size() < task.ranks)
    throw cli::UsageError(std::to_string(task.ranks) + " ranks want as many shards");
  figures.lanes = static_cast<std::uint32_t>(lanes);
  std::set<unsigned> looked_at;
  for (unsigned i = 0; i < kLookedAt; ++i)
    looked_at.insert(static_cast<unsigned>(std::uint64_t{task.ranks - 1} * i / (kLookedAt - 1)));
  for (const unsigned rank : looked_at)
    Draw(task, rank, figures, stop);
  return figures;
}

}  // namespace sluice::bench
