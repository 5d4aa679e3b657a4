// RowOf() is the deal: it gives the position of each row, by lists, by shards or by lanes.
// OwnRowsOf() gives the same positions for a run of rows at once and must agree with RowOf(). A row
// that only fills up wraps around to an earlier position.
//
// SizeOf() must give all ranks the same number of batches and rows. So they never follow from this
// rank's own samples: they follow from the rank with the most samples or, for LastBatch::kDrop,
// from the rank with the fewest.
#include "reader/order/deal.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>

#include <sluice/rank.h>

#include "format/random.h"
#include "reader/order/permutation.h"
#include "reader/order/shape.h"

namespace sluice {

// Returns the rank of every shard, and puts each rank's number of samples into `samples`.
std::vector<unsigned> Deal::DealShards(std::uint64_t epoch,
                                       std::vector<std::uint64_t>& samples) const {
  const std::uint64_t count = shape_.shards().size();
  const Permutation order(count, RandomStream(options_.seed, Purpose::kShardDeal, epoch).Word64());
  samples.assign(options_.world_size, 0);
  using Hand = std::pair<std::uint64_t, unsigned>;  // samples so far, rank
  std::priority_queue<Hand, std::vector<Hand>, std::greater<>> least;
  for (unsigned rank = 0; rank < options_.world_size; ++rank)
    least.emplace(0, rank);
  std::vector<unsigned> rank_of(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    // In permuted order, and each shard to the rank with the fewest samples so far: ranks get
    // different shards in each epoch, but nearly the same number of samples.
    const std::uint64_t shard = order(i);
    const auto [has, rank] = least.top();
    least.pop();
    rank_of[shard] = rank;
    samples[rank] = has + shape_.shards()[shard].samples;
    least.emplace(samples[rank], rank);
  }
  return rank_of;
}

std::vector<std::uint32_t> Deal::ShardsOf(std::uint64_t epoch) const {
  std::vector<std::uint64_t> samples;
  const std::vector<unsigned> rank_of = DealShards(epoch, samples);
  std::vector<std::uint32_t> shards;
  for (std::uint32_t shard = 0; shard < rank_of.size(); ++shard) {
    if (rank_of[shard] == options_.rank) shards.push_back(shard);
  }
  return shards;
}

EpochSize Deal::SizeOf(std::uint64_t epoch) const {
  EpochSize size = WholeSizeOf(epoch);
  for (const SkippedBatches& range : options_.skip) {
    for (std::uint64_t b = range.first;
         range.epoch == epoch && b < size.batches && b - range.first < range.count; ++b)
      size.samples -= RowsOf(size, b);
  }
  return size;
}

std::uint64_t Deal::PlayedIn(std::uint64_t epoch, std::uint64_t begin,
                             std::uint64_t end) const noexcept {
  std::uint64_t played = end - begin;
  for (const SkippedBatches& range : options_.skip) {
    const std::uint64_t from = std::max(begin, range.first);
    const std::uint64_t to = std::min(end, range.first + range.count);
    if (range.epoch == epoch && from < to) played -= to - from;
  }
  return played;
}

EpochSize Deal::WholeSizeOf(std::uint64_t epoch) const {
  const std::uint64_t rows = options_.batch_size;
  EpochSize size;
  if (options_.lists) {
    size.lists = options_.lists->Of(epoch);
    size.batches = size.lists->count();
    size.domain = size.positions = size.lists->samples.size();
    size.least = size.domain / options_.world_size;
    for (std::uint64_t batch = 0; batch < size.batches; ++batch)
      size.samples += RowsOf(size, batch);
    size.last_rows = RowsOf(size, size.batches - 1);
    return size;
  }
  std::uint64_t most = 0;  // samples of the rank that gets the most
  if (options_.by_shards && shape_.samples() > 0) {
    std::vector<std::uint64_t> samples;
    DealShards(epoch, samples);
    size.positions = shape_.samples();
    size.domain = samples[options_.rank];
    size.least = *std::ranges::min_element(samples);
    most = *std::ranges::max_element(samples);
  } else {
    size.domain = size.positions = options_.listed.value_or(shape_.samples());
    size.least = size.domain / options_.world_size;
    most = CeilDiv(size.domain, options_.world_size);
  }
  const bool drop = options_.last_batch == LastBatch::kDrop;
  size.batches = drop ? size.least / rows : CeilDiv(most, rows);
  if (size.batches == 0) return size;
  size.last_rows =
      options_.last_batch == LastBatch::kKeep ? most - (size.batches - 1) * rows : rows;
  size.samples = (size.batches - 1) * rows + size.last_rows;
  return size;
}

std::size_t Deal::RowsOf(const EpochSize& size, std::uint64_t batch) const noexcept {
  if (size.lists) return CeilDiv(size.lists->size(batch), options_.world_size);
  return batch + 1 == size.batches ? size.last_rows : options_.batch_size;
}

std::uint64_t Deal::PositionsOf(std::uint64_t epoch) const {
  if (options_.lists) return options_.lists->Of(epoch)->count();
  if (!options_.by_shards || shape_.samples() == 0) {
    return options_.listed.value_or(shape_.samples());
  }
  std::vector<std::uint64_t> samples;
  DealShards(epoch, samples);
  return *std::ranges::max_element(samples) * options_.world_size;
}

Deal::Row Deal::RowOf(const EpochSize& size, std::uint64_t batch, std::size_t row) const noexcept {
  Row result;
  if (size.lists) {
    const std::uint64_t rows = size.lists->size(batch);
    const std::uint64_t nth = options_.rank * RowsOf(size, batch) + row;
    result.fills_up = nth >= rows;
    result.position = result.draw_position = size.lists->begins[batch] + nth % rows;
    return result;
  }
  const std::uint64_t nth = batch * options_.batch_size + row;  // counted on this rank
  result.position = options_.by_shards ? nth : nth * options_.world_size + options_.rank;
  result.fills_up = result.position >= size.domain;
  if (result.fills_up) result.position %= size.domain;
  // Random draws of a row depend on this number. By shards, positions are counted for each rank, so
  // the rank is added to them: otherwise, all ranks would draw the same augmentations.
  result.draw_position = DrawPosition(result.position);
  return result;
}

void Deal::AddRowsOf(const EpochSize& size, std::uint64_t position,
                     std::vector<DealtRow>& rows) const {
  if (size.lists) {
    const std::vector<std::uint64_t>& begins = size.lists->begins;
    const auto after = std::ranges::upper_bound(begins, position);
    const auto batch = static_cast<std::uint64_t>(after - begins.begin()) - 1;
    const std::uint64_t of_rank = RowsOf(size, batch);
    for (std::uint64_t nth = position - begins[batch]; nth < of_rank * options_.world_size;
         nth += size.lists->size(batch))
      rows.push_back({batch, static_cast<unsigned>(nth / of_rank), nth % of_rank});
    return;
  }
  const std::uint64_t ranks = options_.by_shards ? 1 : options_.world_size;
  for (;; position += size.domain) {
    const std::uint64_t nth = position / ranks;  // counted on the rank
    const std::uint64_t batch = nth / options_.batch_size;
    if (batch >= size.batches) return;
    const std::uint64_t row = nth % options_.batch_size;
    const auto rank = static_cast<unsigned>(position % ranks);
    if (row < RowsOf(size, batch))
      rows.push_back({batch, options_.by_shards ? options_.rank : rank, row});
  }
}

Deal::OwnRows Deal::OwnRowsOf(const EpochSize& size, std::uint64_t batch,
                              std::size_t rows) const noexcept {
  const Row first = RowOf(size, batch, 0);
  OwnRows own;
  // Positions of a batch ascend, so rows that fill up come last.
  if (first.fills_up) return own;
  if (size.lists) {
    own.position = first.position;
    own.draw_position = first.draw_position;
    own.count = static_cast<std::size_t>(
        std::min<std::uint64_t>(rows, size.lists->begins[batch + 1] - first.position));
    return own;
  }
  own.stride = options_.by_shards ? 1 : options_.world_size;
  own.draw_stride = options_.world_size;
  own.position = first.position;
  own.draw_position = first.draw_position;
  own.count = static_cast<std::size_t>(
      std::min<std::uint64_t>(rows, CeilDiv(size.domain - first.position, own.stride)));
  return own;
}

std::string ShareText(const Rank& rank, std::uint64_t samples, std::uint64_t of_samples) {
  if (rank.world_size <= 1) return {};
  const bool found = !rank.variables.empty();
  return "rank " + std::to_string(rank.rank) + " of " + std::to_string(rank.world_size) + " (" +
         (found ? "from the environment: " + std::string(rank.variables)
                : std::string("LoaderOptions::ranks.rank and world_size")) +
         ") loads " + std::to_string(samples) + " of " + std::to_string(of_samples) +
         " samples an epoch" +
         (found ? "; if this process shall load all samples, as for validation on one rank, set "
                  "LoaderOptions::ranks.world_size = 1"
                : "");
}

}  // namespace sluice
