// When an epoch needs each block, for a cache that evicts the block whose next use is furthest
// away.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <sluice/loader_options.h>

#include "format/mutex.h"
#include "reader/order/shape.h"

namespace sluice {

// For each block, the time at which the epoch opens it: the number of samples that all ranks
// together have played since epoch 0; UINT64_MAX if the epoch does not open it. Empty if ranks get
// whole shards, and for Shuffle::kRandom and the user's own batches, which need most blocks many
// times. Walks the whole order. `options` must have been checked.
std::vector<std::uint64_t> NextUses(const DatasetShape& shape, const LoaderOptions& options,
                                    std::uint64_t epoch, StopFlag give_up);

// Computes NextUses() on a thread of its own, so that the caller need not wait for a walk through
// an epoch of millions of samples. Used by one thread.
class NextUsesAhead {
 public:
  using Uses = std::shared_ptr<const std::vector<std::uint64_t>>;

  // Both references must outlive this object.
  NextUsesAhead(const DatasetShape& shape, const LoaderOptions& options)
      : shape_(shape), options_(options) {
    known_.reserve(3);  // so that the thread need not allocate to store results
  }
  ~NextUsesAhead();
  NextUsesAhead(const NextUsesAhead&) = delete;
  NextUsesAhead& operator=(const NextUsesAhead&) = delete;

  // From now on Find() returns the result for `epoch`. Once that is computed, the thread computes
  // the next epoch's.
  void Begin(std::uint64_t epoch);
  // The result of NextUses(); null until it is known.
  Uses Find() const;
  // Returns once Find() is not null, or once `give_up` is set.
  void Await(StopFlag give_up) const;

  // The most bytes of memory that it takes.
  static std::uint64_t MemoryBytes(const DatasetShape& shape) noexcept {
    return 3 * sizeof(std::uint64_t) * shape.blocks();
  }

 private:
  void Run();
  // The epoch to compute now: the wanted one or else the next, if its result is not known yet.
  std::optional<std::uint64_t> Missing() const REQUIRES(mutex_);
  Uses KnownOf(std::uint64_t epoch) const REQUIRES(mutex_);

  const DatasetShape& shape_;
  const LoaderOptions& options_;
  mutable Mutex mutex_;
  mutable Condition changed_;
  std::optional<std::uint64_t> wanted_ GUARDED_BY(mutex_);
  std::optional<std::uint64_t> computing_ GUARDED_BY(mutex_);
  // The result, an empty one, for an epoch whose next uses could not be computed.
  const Uses unknown_ = std::make_shared<const std::vector<std::uint64_t>>();
  struct Known {
    std::uint64_t epoch = 0;
    Uses uses;
  };
  std::vector<Known> known_ GUARDED_BY(mutex_);  // for the epoch of Begin() and the one after
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> give_up_{false};  // the result being computed is not wanted any more
  std::thread thread_;
};

}  // namespace sluice
