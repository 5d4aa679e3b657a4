// Deals an epoch's samples to ranks, batch by batch.
//
// By lanes (the default): global batch b has the batch_size x world_size positions of the order
// from b x batch_size x world_size on. Of each run of world_size positions, each rank gets one.
// Position p comes from lane p mod L (L is the number of lanes), and world_size divides L. So a
// rank gets whole lanes, and the sequence of global batches does not depend on the number of ranks.
//
// By shards: in each epoch, whole shards are dealt in random order, each to the rank with the
// fewest samples so far, and every rank plays its own order over its shards.
//
// By the user's lists: each list is a global batch, and each rank plays a consecutive part of it.
//
// All ranks have the same number of batches, and the same number of rows in each.
//
// If positions or deals change, raise kOrderVersion (sluice/version.h). What users may rely on is
// stated at RankOptions (sluice/loader_options.h) and in reader/SAMPLES.md, "Several ranks".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sluice/order.h>
#include <sluice/rank.h>

#include "reader/order/sample_draw.h"
#include "reader/order/shape.h"

namespace sluice {

struct DealOptions {
  std::size_t batch_size = 1;  // batch size of one rank
  unsigned rank = 0;
  unsigned world_size = 1;
  LastBatch last_batch = LastBatch::kKeep;
  bool by_shards = false;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> listed;     // samples in an epoch of a SampleList, dealt by lanes
  std::shared_ptr<BatchLists> lists = {};  // the user's batches, instead of lanes or shards
  // Apart, in ascending order and in batches of this deal; see CheckedOptions().
  std::vector<SkippedBatches> skip = {};
};

// The size of an epoch for one rank.
struct EpochSize {
  std::uint64_t batches = 0;  // including those that are skipped
  // Rows in all batches, including those that only fill up, but not those that are skipped.
  std::uint64_t samples = 0;
  // The number of positions that batches are cut from: all positions of the epoch; if shards are
  // dealt, the samples of this rank's shards.
  std::uint64_t domain = 0;
  std::uint64_t last_rows = 0;                     // rows in the last batch
  std::uint64_t positions = 0;                     // samples dealt to all ranks together
  std::uint64_t least = 0;                         // samples dealt to the rank that gets the fewest
  std::shared_ptr<const EpochBatches> lists = {};  // DealOptions::lists
};

class Deal {
 public:
  // `shape` must outlive it. If shards are dealt, there must be at least as many shards as ranks.
  Deal(const DatasetShape& shape, const DealOptions& options) : shape_(shape), options_(options) {}

  EpochSize SizeOf(std::uint64_t epoch) const;
  // An upper bound on ResumePoint::position: every batch of the epoch begins at a smaller position,
  // counted over all ranks. With the user's lists, the number of batches.
  std::uint64_t PositionsOf(std::uint64_t epoch) const;

  // The number of this rank's rows in a batch.
  std::size_t RowsOf(const EpochSize& size, std::uint64_t batch) const noexcept;

  // If shards are dealt: this rank's shards, in ascending order.
  std::vector<std::uint32_t> ShardsOf(std::uint64_t epoch) const;

  // A row of a batch: the position to ask the order for; the position that seeds the transforms'
  // draws, which differs between all rows of the epoch on all ranks; and whether the row only fills
  // up the batch. Such a row repeats another row, with both of its positions.
  struct Row {
    std::uint64_t position = 0;
    std::uint64_t draw_position = 0;
    bool fills_up = false;
  };
  Row RowOf(const EpochSize& size, std::uint64_t batch, std::size_t row) const noexcept;

  // The rows of a batch before the first one that only fills up. From one row to the next, the
  // position grows by `stride`, and the draw position by `draw_stride`.
  struct OwnRows {
    std::size_t count = 0;
    std::uint64_t position = 0;
    std::uint64_t stride = 1;
    std::uint64_t draw_position = 0;
    std::uint64_t draw_stride = 1;
  };
  // Looks at the first `rows` rows of the batch.
  OwnRows OwnRowsOf(const EpochSize& size, std::uint64_t batch, std::size_t rows) const noexcept;

  // Adds all rows that have a position of the order to `rows`: none with LastBatch::kDrop, and
  // further ones that only fill up. If shards are dealt, the order is this rank's. Batches that are
  // skipped are included.
  struct DealtRow {
    std::uint64_t batch = 0;
    unsigned rank = 0;
    std::uint64_t row = 0;
  };
  void AddRowsOf(const EpochSize& size, std::uint64_t position, std::vector<DealtRow>& rows) const;
  // Row::draw_position, from Row::position.
  std::uint64_t DrawPosition(std::uint64_t position) const noexcept {
    return options_.by_shards ? position * options_.world_size + options_.rank : position;
  }

  const std::vector<SkippedBatches>& skip() const noexcept { return options_.skip; }
  // How many of the epoch's batches `begin` to `end` - 1 are not skipped.
  std::uint64_t PlayedIn(std::uint64_t epoch, std::uint64_t begin,
                         std::uint64_t end) const noexcept;

 private:
  EpochSize WholeSizeOf(std::uint64_t epoch) const;  // as if nothing were skipped
  std::vector<unsigned> DealShards(std::uint64_t epoch, std::vector<std::uint64_t>& samples) const;

  const DatasetShape& shape_;
  DealOptions options_;
};

// "rank 1 of 4 (from the environment: RANK, WORLD_SIZE) loads 250 of 1000 samples an epoch; ...";
// empty for a process that plays alone.
std::string ShareText(const Rank& rank, std::uint64_t samples, std::uint64_t of_samples);

}  // namespace sluice
