// Chooses the sample that takes the place of one that cannot be read.
//
// The choice depends on the position alone, so that every rank, thread and resumed process agrees.
// In the quasi-random order it stays in the position's lane, whose blocks are being read anyway;
// later tries lie further and further away, so that one broken block or shard does not use up all
// tries. Used by one thread.
#pragma once

#include <optional>

#include "reader/dataset/dataset_state.h"
#include "reader/dataset/rank_epoch.h"

namespace sluice {

class Substitutes {
 public:
  static constexpr unsigned kTries = 64;

  // Both must outlive it. `options` are checked ones.
  Substitutes(const DatasetState& dataset, const LoaderOptions& options)
      : dataset_(dataset), options_(options), deal_(dataset.shape, DealOptionsOf(options)) {}

  // The sample to try for the row with that position for draws. `attempt` counts from 1.
  SampleRef At(std::uint64_t epoch, std::uint64_t draw_position, unsigned attempt);

 private:
  const DatasetState& dataset_;
  const LoaderOptions& options_;
  Deal deal_;
  std::optional<RankEpoch> order_;  // made when the first fault is met
  std::vector<std::uint64_t> opened_;
};

}  // namespace sluice
