// The order of one epoch: the function from a position to a sample, for every kind of shuffling.
//
// A pure function of (dataset, options, epoch). Not thread-safe: whoever asks keeps one.
#pragma once

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include <sluice/order.h>

#include "reader/order/give_up.h"
#include "reader/order/lanes.h"
#include "reader/order/permutation.h"
#include "reader/order/shape.h"

namespace sluice {

struct OrderParameters {
  Shuffle shuffle = Shuffle::kQuasiRandom;
  std::uint64_t seed = 0;
  std::uint32_t lanes = 192;
  std::uint64_t window_bytes = 0;  // 0: the larger of 64 MiB and two blocks a lane
  GiveUp give_up = nullptr;        // making the order throws OrderGivenUp once that is set
};

// What an order is over, if not the whole dataset: some shards, ascending, or a list of samples.
struct ShardPart {
  std::vector<std::uint32_t> shards;
};
struct ListPart {
  std::vector<std::uint64_t> samples;
};
using OrderPart = std::variant<std::monostate, ShardPart, ListPart>;

class EpochOrder {
 public:
  // `shape` must outlive the order. Positions are 0 .. the part's samples - 1.
  EpochOrder(const DatasetShape& shape, const OrderParameters& options, std::uint64_t epoch,
             OrderPart part = {});
  EpochOrder(const EpochOrder&) = delete;
  EpochOrder& operator=(const EpochOrder&) = delete;

  // `opened` gets the blocks, by number in the dataset, that will be needed from now on: for
  // reading ahead. Positions asked for in order are cheap. `fills_up`: the position has been asked
  // for before; of what it needs, no more than the sample's own block is opened for it.
  SampleRef At(std::uint64_t position, std::vector<std::uint64_t>& opened, bool fills_up = false);

  // Of windows that At() enters from here on, TakeFollowing() gives the blocks, by number in the
  // dataset, of the windows behind them, in the order in which these will be opened, until they
  // are: for reading further ahead. Only quasi-random order has windows.
  void NoteFollowing() noexcept {
    if (lanes_) lanes_->NoteFollowing();
  }
  std::optional<std::uint64_t> TakeFollowing();

  // How many positions of the epoch lie in a block, by number in the dataset, once At() has put it
  // into `opened`: those that are still to come, where an epoch is gone on with. 0 where that is
  // not known (a list that is not played in quasi-random order).
  std::uint64_t SamplesIn(std::uint64_t block) const noexcept;

 private:
  SampleRef InShape(std::uint64_t position, std::vector<std::uint64_t>& opened, bool fills_up);
  SampleRef InShards(std::uint64_t position, std::vector<std::uint64_t>& opened, bool fills_up);
  SampleRef InList(std::uint64_t position, std::vector<std::uint64_t>& opened, bool fills_up);
  std::uint64_t BlockOf(const SampleRef& ref) const noexcept;  // in the whole
  std::uint64_t InWhole(std::uint64_t block) const noexcept;   // a block of what is ordered

  const DatasetShape& whole_;
  OrderPart part_;
  // The shards of a part; or for a list, sorted then, one shard of one block for each block that it
  // has samples in.
  std::optional<DatasetShape> part_shape_;
  const DatasetShape& shape_;  // what is ordered
  Shuffle shuffle_;
  std::optional<LaneOrder> lanes_;
  Permutation samples_;
  std::uint64_t last_block_ = ~std::uint64_t{0};  // kSequential: the block entered last
};

// "quasi_random", "random", "sequential".
std::string_view NameOf(Shuffle shuffle) noexcept;
std::optional<Shuffle> ShuffleOf(std::string_view name) noexcept;

// Blocks of a lane's window, for a dataset and options.
std::uint64_t WindowBlocks(const DatasetShape& shape, const OrderParameters& options) noexcept;

}  // namespace sluice
