// A thread that decodes runs of rows of the ring's slots.
#pragma once

#include "reader/decoding/row_worker.h"
#include "reader/loader/batch_ring.h"
#include "reader/loader/thread_usage.h"

namespace sluice {

class DecoderThread {
 public:
  // `number` counts from 0. All must outlive it.
  DecoderThread(unsigned number, const LoaderSetup& setup, const ReadingAids& aids,
                FaultLog& faults, BatchRing& ring)
      : number_(number),
        trace_(setup.recipe.options.diagnostics.trace.get()),
        ring_(ring),
        worker_(setup.recipe, aids, faults) {}
  // Returns once the ring is stopped.
  void Run();

 private:
  RowWorker::Outcome Decode(const BatchRing::Rows& rows, LoaderStats& spent);

  const unsigned number_;
  LoaderTrace* const trace_;  // null: there is none
  BatchRing& ring_;
  RowWorker worker_;
  ThreadUsage usage_;
};

}  // namespace sluice
