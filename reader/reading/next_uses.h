// When an epoch needs each block, for a cache that gives up what is needed last.
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

// By block: the time at which that epoch opens it, over all ranks, in samples since epoch 0;
// UINT64_MAX if it does not. Empty if it cannot be known: with ranks that deal whole shards, and
// with Shuffle::kRandom and the user's own batches, which need most blocks many times. Walks the
// whole order. `options` are checked ones.
std::vector<std::uint64_t> NextUses(const DatasetShape& shape, const LoaderOptions& options,
                                    std::uint64_t epoch, StopFlag give_up);

// Computes them on a thread of its own: nobody should wait for a walk through an epoch of millions
// of samples. Used by one thread.
class NextUsesAhead {
 public:
  using Uses = std::shared_ptr<const std::vector<std::uint64_t>>;

  // Both must outlive it.
  NextUsesAhead(const DatasetShape& shape, const LoaderOptions& options)
      : shape_(shape), options_(options) {
    known_.reserve(3);  // so that the thread takes no memory to note what it has found
  }
  ~NextUsesAhead();
  NextUsesAhead(const NextUsesAhead&) = delete;
  NextUsesAhead& operator=(const NextUsesAhead&) = delete;

  // From now on Find() is about that epoch. Once that is known, the epoch after it is computed.
  void Begin(std::uint64_t epoch);
  // The result of NextUses(); null while it is not known.
  Uses Find() const;
  // Returns once Find() is not null, or `give_up` is set.
  void Await(StopFlag give_up) const;

  // The most memory it takes.
  static std::uint64_t MemoryBytes(const DatasetShape& shape) noexcept {
    return 3 * sizeof(std::uint64_t) * shape.blocks();
  }

 private:
  void Run();
  std::optional<std::uint64_t> Missing() const REQUIRES(mutex_);
  Uses KnownOf(std::uint64_t epoch) const REQUIRES(mutex_);

  const DatasetShape& shape_;
  const LoaderOptions& options_;
  mutable Mutex mutex_;
  mutable Condition changed_;
  std::optional<std::uint64_t> wanted_ GUARDED_BY(mutex_);
  std::optional<std::uint64_t> computing_ GUARDED_BY(mutex_);
  const Uses unknown_ = std::make_shared<const std::vector<std::uint64_t>>();
  struct Known {
    std::uint64_t epoch = 0;
    Uses uses;
  };
  std::vector<Known> known_ GUARDED_BY(mutex_);  // of the wanted epoch and the next
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> give_up_{false};  // nobody wants what is being computed
  std::thread thread_;
};

}  // namespace sluice
