// The order of an epoch of a mixture by weight: position -> (dataset, the number of its draw) ->
// (how often the dataset has begun again, place) -> the sample that the dataset's own order has
// there. Draws are numbered through all epochs, so every sample of a dataset comes before one comes
// again, and any position of any epoch is reached at once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "reader/order/mixture_plan.h"
#include "reader/order/order.h"

namespace sluice {

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
