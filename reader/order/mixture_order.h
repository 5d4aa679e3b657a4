// Epochs of a mixture with weights: how many positions each dataset gets (MixturePlan), and which
// of its samples stand there (MixtureOrder).
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
  std::uint64_t samples = 0;  // MixtureLength::kSamples
  std::size_t batch_size = 1;
  unsigned world_size = 1;
  std::uint32_t lanes = 192;
  std::uint64_t most_bytes = UINT64_MAX;  // memory for the plan
};

// How many samples of each dataset an epoch of a mixture by weight has, and in which order the
// datasets take turns. The same in every epoch; which samples those are, MixtureOrder decides.
//
// An epoch has a fixed number of draws of each dataset. Positions lie in columns, as those of the
// plain order lie in lanes (position p in column p mod L), and a column's draws of a dataset come
// from the same lane of it: so a rank, which gets whole columns, reads whole lanes of each dataset.
// Each column plays the same word of datasets, in which they are spread as evenly as possible, from
// another place on. The draws that do not fill a row of columns come last.
//
// With a fixed share of each batch, the rows of a rank's batch are dealt to the datasets instead.
//
// ../ORDER.md specifies it.
class MixturePlan {
 public:
  // `shapes`: of the datasets, none without samples. Throws Error(kInvalidArgument or kLimit).
  MixturePlan(std::vector<DatasetShape> shapes, const MixtureParameters& parameters);

  struct Part {
    DatasetShape shape;
    std::uint32_t first_shard = 0;  // among those of all parts,
    std::uint64_t first_block = 0;  // the same,
    std::uint64_t first_sample = 0;
    std::uint64_t draws = 0;      // in an epoch
    std::uint64_t of_batch = 0;   // in a rank's batch; 0: shares are of samples
    std::uint64_t in_column = 0;  // draws / lanes
  };
  const std::vector<Part>& parts() const noexcept { return parts_; }
  const MixtureParameters& parameters() const noexcept { return parameters_; }
  std::uint64_t positions() const noexcept { return positions_; }
  // The part that has the block, or the sample, by its number among all.
  std::size_t PartOfBlock(std::uint64_t block) const noexcept;

  // A part's turn: its number, and how many of its turns in the word come before.
  struct Turn {
    std::uint16_t part = 0;
    std::uint32_t before = 0;
  };
  // The length of the word: rows that have a position in each column.
  std::uint64_t rows() const noexcept { return parts_of_word_.size(); }
  Turn TurnAt(std::uint64_t place) const noexcept {
    return {parts_of_word_[place], before_[place]};
  }
  // The part's turns among the first `places` of the word, which are at most `lanes`.
  std::uint32_t TurnsIn(std::uint64_t places, std::size_t part) const noexcept {
    return turns_in_[places * parts_.size() + part];
  }

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
  std::vector<std::uint16_t> parts_of_word_;
  std::vector<std::uint32_t> before_;
  std::vector<std::uint16_t> turns_in_;
};

// `total` in proportion to the weights: what is left after rounding down goes to the largest
// remainders, of equal ones to the first.
std::vector<std::uint64_t> Apportion(std::uint64_t total,
                                     const std::vector<std::uint64_t>& weights);

// The order of an epoch of a mixture by weight: position -> (dataset, the number of its draw) ->
// (how often the dataset has begun again, place) -> the sample that the dataset's own order has
// there. Draws are numbered through all epochs, so every sample of a dataset comes before one comes
// again, and any position of any epoch is reached at once.
class MixtureOrder {
 public:
  MixtureOrder(std::shared_ptr<const MixturePlan> plan, const OrderParameters& options,
               std::uint64_t epoch);

  // The most orders of a dataset's own that are kept at once.
  static std::uint64_t MostOrders(const MixturePlan::Part& part, std::uint64_t lanes) noexcept;

  // As EpochOrder's.
  SampleRef At(std::uint64_t position, std::vector<std::uint64_t>& opened, bool fills_up);
  // The sample of the same dataset so many draws later.
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
    // Where the epoch begins: times that the dataset was played before, and the place in it.
    std::uint64_t cycle = 0;
    std::uint64_t place = 0;
    Shuffle shuffle = Shuffle::kQuasiRandom;
    std::map<std::uint64_t, EpochOrder> orders;  // by cycle
  };
  Draw DrawAt(std::uint64_t position);
  Draw DrawInBatch(std::uint64_t position);
  SampleRef Take(const Draw& draw, std::vector<std::uint64_t>& opened, bool fills_up);
  EpochOrder& OrderOf(std::size_t part, std::uint64_t cycle);

  const std::shared_ptr<const MixturePlan> plan_;
  const OrderParameters options_;
  const std::uint64_t lanes_;
  const std::uint64_t key_;  // of the pattern of this epoch
  std::vector<PartState> parts_;
  Permutation shifts_;  // by column: where it begins in the word
  Permutation tail_;
  std::vector<std::uint64_t> tail_start_;  // of each part's share, within the tail
  std::optional<std::uint64_t> batch_;     // that rows_ is of
  Permutation rows_;
  bool notes_following_ = false;
};

}  // namespace sluice
