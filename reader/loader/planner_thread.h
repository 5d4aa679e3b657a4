// The thread that plans batches, starts reading their blocks, and publishes them for decoding.
#pragma once

#include <deque>

#include "reader/loader/batch_planner.h"
#include "reader/loader/batch_ring.h"

namespace sluice {

class PlannerThread {
 public:
  // All must outlive it; `stage` may be null.
  PlannerThread(const LoaderSetup& setup, BlockSource& source, ShardStage* stage, BatchRing& ring);
  // Returns once the ring is stopped.
  void Run();

 private:
  struct InHand {
    BatchRing::Planned planned;
    std::uint64_t blocks = 0;  // for BlockSource::Await()
    Clock::time_point since;
  };
  void Plan(const BatchRing::Turn& turn);
  std::uint64_t BatchesOf(std::uint64_t epoch) const;
  void AwaitFirst();
  void Forget();

  const LoaderSetup& setup_;
  BlockSource& source_;
  BatchRing& ring_;
  BatchPlanner planner_;
  std::deque<InHand> in_hand_;  // planned and not published, oldest first, all of one stream
};

}  // namespace sluice
