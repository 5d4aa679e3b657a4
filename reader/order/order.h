// The order of one epoch: the function from a position to a sample, for every kind of shuffling.
//
// The order is a pure function of (dataset, options, epoch). An object is not thread-safe: each
// thread that asks has its own.
//
// A new Shuffle also goes into these files, where "Shuffle::k|quasi.?random" shows how, among
// others:
//   reader/include/sluice/order.h         the enumeration
//   reader/include/sluice/loader_option_list.h
//   reader/include/sluice/loader_options.h  what Direct and lanes say of it
//   reader/include/sluice/loader_memory.h
//   reader/order/order.cpp
//   reader/order/mixture_order.cpp
//   reader/dataset/rank_epoch.cpp
//   reader/reading/requested_blocks.h
//   reader/reading/next_uses.cpp
//   reader/reading/remote_blocks.cpp
//   reader/decoding/faults.cpp
//   reader/loader/checked_options.cpp
//   reader/loader/memory_bound.cpp
//   reader/loader/resume.cpp
//   reader/include/sluice/resume.h
//   reader/CONCEPTS.md
//   reader/python/sluice/_arguments.py
//   reader/ORDER.md
//   reader/SAMPLES.md
//   tests/reader/order_test.cpp
//   tests/reader/order_by_document.py     from ORDER.md alone; makes order_by_document.inc
//   tests/reader/order_by_document_test.cpp
//   tests/reader/shuffle_quality_test.cpp
//   tests/reader/drawn_options_test.cpp
//   tests/reader/rank_test.cpp
//   tests/reader/resume_test.cpp
//   tests/reader/mixture_order_test.cpp
//   tests/python/test_order.py
//   tests/python/test_values.py           the words of a refusal
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <sluice/order.h>

#include "reader/order/lanes.h"
#include "reader/order/permutation.h"
#include "reader/order/shape.h"

namespace sluice {

class MixtureOrder;
class MixturePlan;

struct OrderParameters {
  Shuffle shuffle = Shuffle::kQuasiRandom;
  std::uint64_t seed = 0;
  std::uint32_t lanes = 192;
  std::uint64_t window_bytes = 0;  // 0: the larger of 64 MiB and two blocks a lane
  std::uint64_t uses = 1;      // how often each sample is asked for; above 1 if rows have partners
  bool partners = true;        // false: not as PartnerOf() says, but in a mixture
  StopFlag give_up = nullptr;  // once it is set, making the order throws OrderGivenUp
};

// The part of the dataset that an order covers: some shards (in ascending order), a list of
// samples, or datasets mixed by weight.
struct ShardPart {
  std::vector<std::uint32_t> shards;
};
struct ListPart {
  std::vector<std::uint64_t> samples;
  // Where each of the user's batches begins, and then the total; empty if they are not composed.
  std::vector<std::uint64_t> begins = {};
};
struct MixturePart {
  std::shared_ptr<const MixturePlan> plan;  // made for the same shards
};
using OrderPart = std::variant<std::monostate, ShardPart, ListPart, MixturePart>;

class EpochOrder {
 public:
  // `shape` must outlive the order. Positions are 0 .. the part's samples - 1.
  EpochOrder(const DatasetShape& shape, const OrderParameters& options, std::uint64_t epoch,
             OrderPart part = {});
  ~EpochOrder();
  EpochOrder(const EpochOrder&) = delete;
  EpochOrder& operator=(const EpochOrder&) = delete;

  // The sample at a position. Adds to `opened` the blocks (by number in the dataset) that are
  // needed from now on, for reading ahead; Shuffle::kRandom adds none. The call is cheap if
  // positions are asked for in order. `fills_up` says that the position has been asked for before;
  // then at most the sample's own block is added.
  SampleRef At(std::uint64_t position, std::vector<std::uint64_t>& opened, bool fills_up = false);

  // Does what At() does for positions `position`, `position` + `stride`, and so on, until `samples`
  // is full. For a whole dataset in quasi-random order, Run() takes a fraction of the time of At().
  void Run(std::uint64_t position, std::uint64_t stride, std::span<SampleRef> samples,
           std::vector<std::uint64_t>& opened);

  // The position whose sample is partner `j` (0 to 2) of the row at `position`; with
  // OrderParameters::uses 4, and not for Shuffle::kSequential without the user's batches.
  std::uint64_t PartnerOf(std::uint64_t position, std::size_t j);

  // Adds the positions that have the sample to `positions`, in ascending order: several if a list
  // or a mixture repeats it, none if the epoch does not have it. Do not mix the calls with those of
  // At(). The cost: a permutation of the sample's window, and the first call takes some more.
  void AddPositionsOf(std::uint64_t sample, std::vector<std::uint64_t>& positions);

  // The sample to try if the one at `position` cannot be read: the sample `away` positions further
  // on, modulo `positions` (the number of positions); in a mixture, the sample `away` draws later
  // from the same dataset.
  SampleRef Substitute(std::uint64_t position, std::uint64_t away, std::uint64_t positions,
                       std::vector<std::uint64_t>& opened);

  // From now on, for each window that At() enters, TakeFollowing() returns the blocks (by number in
  // the dataset) of the window after it, one by one, in the order in which the windows will open,
  // for reading further ahead; then it returns nothing. Windows that have opened in the meantime
  // are left out. Only quasi-random order has windows.
  void NoteFollowing();
  std::optional<std::uint64_t> TakeFollowing();

  // The number of the epoch's positions in a block (by number in the dataset), once At() has put it
  // into `opened`; in a resumed epoch, the number of those still to come. 0 if it is unknown (a
  // list that is not played in quasi-random order).
  std::uint64_t SamplesIn(std::uint64_t block) const noexcept;

 private:
  // The position in the order of shape_ (or of the list's entries) of a sample (an entry).
  std::uint64_t PositionInShape(std::uint64_t sample);
  SampleRef InShape(std::uint64_t position, std::vector<std::uint64_t>& opened, bool fills_up);
  SampleRef InShards(std::uint64_t position, std::vector<std::uint64_t>& opened, bool fills_up);
  SampleRef InList(std::uint64_t position, std::vector<std::uint64_t>& opened, bool fills_up);
  std::uint64_t BlockOf(const SampleRef& ref) const noexcept;  // the block's number in the dataset
  std::uint64_t InWhole(std::uint64_t block) const noexcept;   // the same for a block of shape_

  const DatasetShape& whole_;
  OrderPart part_;
  // For a ShardPart, the shape of its shards. For a ListPart in quasi-random order, whose list is
  // sorted: one shard of one block for each block that has samples of the list.
  std::optional<DatasetShape> part_shape_;
  const DatasetShape& shape_;  // of the part, or the whole dataset
  Shuffle shuffle_;
  std::optional<LaneOrder> lanes_;
  std::unique_ptr<MixtureOrder> mixture_;  // MixturePart
  Permutation samples_;
  std::vector<std::uint64_t> by_sample_;  // the list's entries by sample, for AddPositionsOf()
  Partners partners_;
  std::uint64_t last_block_ = ~std::uint64_t{0};  // kSequential: the block entered last
};

// "quasi_random", "random", "sequential".
std::string_view NameOf(Shuffle shuffle) noexcept;
std::optional<Shuffle> ShuffleOf(std::string_view name) noexcept;

// The number of blocks in a lane's window.
std::uint64_t WindowBlocks(const DatasetShape& shape, const OrderParameters& options) noexcept;

}  // namespace sluice
