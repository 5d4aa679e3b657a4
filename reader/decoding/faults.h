// Samples that cannot be read: the list of them (Loader::Faults()), and the samples that take their
// place (OnFault::kSubstitute).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sluice/sample_fault.h>

#include "format/mutex.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/rank_epoch.h"

namespace sluice {

// The samples that could not be read, and the shards that could not be opened. Thread-safe.
class FaultLog {
 public:
  static constexpr std::size_t kMaxEntries = 10'000;  // entries for samples and shards together
  static constexpr std::uint64_t kMemoryBytes = kMaxEntries * 512;

  // Adds a fault. Sets `fault.times` itself.
  void Add(SampleFault fault);
  // Notes that a sample was asked for, but that its shard cannot be opened.
  void AddShard(std::uint32_t shard, SampleFault fault);
  // Counts a fault of a shard that is in the log already. Returns false if the shard is not in the
  // log.
  bool MetAgain(std::uint32_t shard, std::uint64_t epoch);
  // From now on, faults of this epoch are counted. Faults of a later epoch are counted once it
  // begins.
  void Begin(std::uint64_t epoch);
  // The number of faults in the epochs that have begun. A sample counts each time it could not be
  // read.
  std::uint64_t count() const;
  std::vector<SampleFault> List() const;

 private:
  void Count(std::uint64_t epoch) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::uint64_t count_ GUARDED_BY(mutex_) = 0;
  std::uint64_t epoch_ GUARDED_BY(mutex_) = UINT64_MAX;  // the epoch that began last
  std::map<std::uint64_t, std::uint64_t> ahead_
      GUARDED_BY(mutex_);  // faults in other epochs, by epoch
  std::map<std::uint64_t, SampleFault> by_sample_ GUARDED_BY(mutex_);
  std::map<std::uint32_t, SampleFault> by_shard_ GUARDED_BY(mutex_);
};

// Chooses the sample that takes the place of one that cannot be read.
//
// The choice depends only on epoch, position and attempt, so that every rank, thread and resumed
// process agrees.
// In the quasi-random order, the substitute comes from the position's lane, whose blocks are being
// read anyway; later tries lie further and further away, so that one broken block or shard does not
// use up all tries. Each object is used by one thread.
class Substitutes {
 public:
  static constexpr unsigned kTries = 64;

  // `dataset` and `options` must outlive it. `options` must have been checked.
  Substitutes(const DatasetState& dataset, const LoaderOptions& options)
      : dataset_(dataset), options_(options), deal_(dataset.facts->shape, DealOptionsOf(options)) {}

  // The sample to try for the row with that draw position (Deal::Row). `attempt` counts from 1.
  SampleRef At(std::uint64_t epoch, std::uint64_t draw_position, unsigned attempt);
  // The first of these that is not deleted; none if all are.
  std::optional<SampleRef> ThereAt(std::uint64_t epoch, std::uint64_t draw_position);
  // Returns the sample that a row shows instead of a deleted partner at that position: the
  // substitute of the partner's own row. If all substitutes that are tried are deleted, too, that
  // is `own`, the row's own sample.
  SampleRef InsteadOfPartner(std::uint64_t epoch, std::uint64_t draw_position,
                             const SampleRef& own) {
    return ThereAt(epoch, draw_position).value_or(own);
  }

 private:
  const DatasetState& dataset_;
  const LoaderOptions& options_;
  Deal deal_;
  std::optional<RankEpoch> order_;     // made when the first fault is met
  std::vector<std::uint64_t> opened_;  // an output of EpochOrder::Substitute() that nobody reads
};

}  // namespace sluice
