// Epochs of a mixture with weights: which dataset each position takes a sample from (MixturePlan),
// and which of the dataset's samples that is (MixtureOrder).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sluice/mixture.h>

#include "reader/order/order.h"
#include "reader/order/shape.h"

namespace sluice {

struct MixtureParameters {
  std::vector<double> weights;  // of the datasets; above 0
  MixtureShares shares = MixtureShares::kOfSamples;
  MixtureLength length = MixtureLength::kFirst;
  std::uint64_t samples = 0;  // in an epoch, for MixtureLength::kSamples
  std::size_t batch_size = 1;
  unsigned world_size = 1;
  std::uint32_t lanes = 192;
  std::uint64_t most_bytes = UINT64_MAX;  // the most memory that the plan may take
};

// The number of samples that an epoch of a mixture by weight takes from each dataset, and the order
// in which the datasets take turns. Both are the same in every epoch; MixtureOrder decides which
// samples they are.
//
// An epoch has a fixed number of draws from each dataset. With L lanes, position p lies in column p
// mod L and in row p / L, as a position of the plain order lies in a lane. A column's draws from a
// dataset come from one lane of that dataset, so a rank, which gets whole columns, reads whole
// lanes of each dataset. The plan has one sequence of datasets, the word, over which each dataset's
// turns are spread as evenly as possible. Each column plays the whole word once: it begins at a
// place of its own, and continues at the word's start. The draws that are left over, fewer than L
// from each dataset, come last (the tail).
//
// With a fixed share of each batch, the plan has no word: the rows of a rank's batch are dealt to
// the datasets instead.
//
// ../ORDER.md specifies both kinds of plan.
class MixturePlan {
 public:
  // `shapes` are those of the datasets, each of which must have a sample. Throws
  // Error(kInvalidArgument or kLimit).
  MixturePlan(std::vector<DatasetShape> shapes, const MixtureParameters& parameters);

  struct Part {
    DatasetShape shape;
    std::uint32_t first_shard = 0;  // the first shard's number among the shards of all parts
    std::uint64_t first_block = 0;  // the first block's number among the blocks of all parts
    std::uint64_t first_sample = 0;
    std::uint64_t draws = 0;      // in an epoch
    std::uint64_t of_batch = 0;   // draws in a rank's batch; 0 with MixtureShares::kOfSamples
    std::uint64_t in_column = 0;  // draws / lanes, rounded down
  };
  const std::vector<Part>& parts() const noexcept { return parts_; }
  const MixtureParameters& parameters() const noexcept { return parameters_; }
  std::uint64_t positions() const noexcept { return positions_; }
  // The part that has the block of number `block` among the blocks of all parts.
  std::size_t PartOfBlock(std::uint64_t block) const noexcept;

  // A place of the word: the part whose turn it is, and the number of that part's earlier turns in
  // the word.
  struct Turn {
    std::uint16_t part = 0;
    std::uint32_t before = 0;
  };
  // The length of the word, which is the number of rows before the tail.
  std::uint64_t rows() const noexcept { return parts_of_word_.size(); }
  Turn TurnAt(std::uint64_t place) const noexcept {
    return {parts_of_word_[place], before_[place]};
  }
  // The number of the part's turns among the first `places` places of the word. `places` must be at
  // most `lanes`.
  std::uint32_t TurnsIn(std::uint64_t places, std::size_t part) const noexcept {
    return turns_in_[places * parts_.size() + part];
  }

  // The place of the word at which the part has its turn number `before` (TurnAt() backwards).
  std::uint64_t PlaceOf(std::size_t part, std::uint64_t before) const noexcept;

  std::uint64_t memory_bytes() const noexcept {
    return 6 * rows() + 2 * turns_in_.size() + 512 * parts_.size();
  }

 private:
  void SetDraws(const std::vector<std::uint64_t>& weights);
  void SetDrawsOfBatches(const std::vector<std::uint64_t>& weights);
  void WriteWord();

  const MixtureParameters parameters_;
  std::vector<Part> parts_;
  std::uint64_t positions_ = 0;
  std::vector<std::uint16_t> parts_of_word_;  // by place of the word: Turn::part
  std::vector<std::uint32_t> before_;         // by place of the word: Turn::before
  std::vector<std::uint16_t> turns_in_;       // by number of places, then by part: TurnsIn()
};

// Divides `total` in proportion to the weights. The units left after rounding down go to the shares
// with the largest remainders, one to each; of equal remainders, the earlier share comes first.
std::vector<std::uint64_t> Apportion(std::uint64_t total,
                                     const std::vector<std::uint64_t>& weights);

// The order of an epoch of a mixture by weight: position -> (dataset, the number of its draw) ->
// (how often the dataset has begun again, place) -> the sample that the dataset's own order has
// there. Draws are numbered through all epochs, so every sample of a dataset is played before one
// is repeated, and any position of any epoch can be computed directly.
class MixtureOrder {
 public:
  MixtureOrder(std::shared_ptr<const MixturePlan> plan, const OrderParameters& options,
               std::uint64_t epoch);

  // The largest number of a dataset's own orders that are kept at once. There is one for each
  // cycle, which is one pass through the dataset.
  static std::uint64_t MostOrders(const MixturePlan::Part& part, std::uint64_t lanes) noexcept;

  // These functions mean the same as those of EpochOrder (order.h); Later() serves Substitute().
  SampleRef At(std::uint64_t position, std::vector<std::uint64_t>& opened, bool fills_up);
  void AddPositionsOf(std::uint64_t sample, std::vector<std::uint64_t>& positions);
  std::uint64_t PartnerOf(std::uint64_t position, std::size_t j);
  // The sample that comes `draws` draws after that of `position`, among the draws of the same
  // dataset.
  SampleRef Later(std::uint64_t position, std::uint64_t draws, std::vector<std::uint64_t>& opened);
  void NoteFollowing();
  std::optional<std::uint64_t> TakeFollowing();
  std::uint64_t SamplesIn(std::uint64_t block) const noexcept;

 private:
  struct Draw {
    std::size_t part = 0;
    std::uint64_t number = 0;  // in this epoch
  };
  struct PartState {
    std::uint64_t seed = 0;
    // Where the epoch begins: how often the dataset was played in full before, and the place in its
    // order.
    std::uint64_t cycle = 0;
    std::uint64_t place = 0;
    Shuffle shuffle = Shuffle::kQuasiRandom;
    std::map<std::uint64_t, EpochOrder> orders;  // by cycle
  };
  Draw DrawAt(std::uint64_t position);
  Draw DrawInBatch(std::uint64_t position);
  std::uint64_t PositionOf(const Draw& draw);  // DrawAt() backwards
  void PermuteBatch(std::uint64_t batch);
  SampleRef Take(const Draw& draw, std::vector<std::uint64_t>& opened, bool fills_up);
  EpochOrder& OrderOf(std::size_t part, std::uint64_t cycle);

  const std::shared_ptr<const MixturePlan> plan_;
  const OrderParameters options_;
  const std::uint64_t lanes_;
  const std::uint64_t
      key_;  // of this epoch's shifts or, with a fixed share of each batch, of its batches' rows
  std::vector<PartState> parts_;
  Permutation shifts_;  // by column: the place in the word where it begins, modulo rows()
  Permutation tail_;
  std::vector<std::uint64_t> tail_start_;  // where each part's share of the tail begins
  std::optional<std::uint64_t> batch_;     // the batch whose rows rows_ permutes
  Permutation rows_;
  Partners partners_;
  bool notes_following_ = false;
};

}  // namespace sluice
