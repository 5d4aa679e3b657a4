// From a sample to its rows in two steps: the order gives the sample's positions, and the deal
// gives the rows of each position. If whole shards are dealt, each rank has an order of its own,
// and a sample is in one of them; otherwise all ranks share one.

#include <algorithm>
#include <string>
#include <tuple>

#include "reader/dataset/rank_epoch.h"
#include "reader/loader/checked_options.h"
#include "reader/loader/loader_setup.h"

namespace sluice {

std::vector<PlayedRow> RowsOf(const DatasetFacts& dataset, LoaderOptions options,
                              std::span<const std::uint64_t> samples,
                              std::span<const std::uint64_t> epochs) {
  for (const std::uint64_t sample : samples) {
    if (sample < dataset.shape.samples()) continue;
    throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(),
                "there is no sample " + std::to_string(sample) + ": the dataset has " +
                    std::to_string(dataset.shape.samples()));
  }
  std::vector<PlayedRow> played;
  std::vector<std::uint64_t> positions;
  std::vector<Deal::DealtRow> rows;
  const unsigned orders = options.ranks.by_shards ? options.ranks.world_size : 1;
  for (const std::uint64_t number : epochs) {
    for (unsigned rank = 0; rank < orders; ++rank) {
      if (options.ranks.by_shards) options.ranks.rank = rank;
      const Deal deal(dataset.shape, DealOptionsOf(options));
      RankEpoch epoch(dataset.shape, options, deal, number);
      CheckEpoch(dataset, options, number, epoch.size);
      for (const std::uint64_t sample : samples) {
        if (dataset.Deleted(sample)) continue;
        positions.clear();
        epoch.order.AddPositionsOf(sample, positions);
        for (const std::uint64_t position : positions) {
          rows.clear();
          deal.AddRowsOf(epoch.size, position, rows);
          for (const Deal::DealtRow& row : rows) {
            if (deal.PlayedIn(number, row.batch, row.batch + 1) == 0) continue;
            played.push_back(
                {sample, number, row.batch, row.rank, row.row, deal.DrawPosition(position)});
          }
        }
      }
    }
  }
  std::ranges::sort(played, {}, [](const PlayedRow& row) {
    return std::tuple(row.epoch, row.batch, row.rank, row.row);
  });
  return played;
}

}  // namespace sluice
