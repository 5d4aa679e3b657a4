// A thread that decodes runs of rows of the ring's slots.
#pragma once

#include "reader/decoding/row_worker.h"
#include "reader/loader/batch_ring.h"
#include "reader/loader/thread_usage.h"

namespace sluice {

class DecoderThread {
 public:
  // `number` counts from 0. All must outlive it.
  DecoderThread(unsigned number, const LoaderSetup& setup, const DecodingContext& context,
                FaultLog& faults, BatchRing& ring)
      : number_(number),
        trace_(setup.recipe.options.diagnostics.trace.get()),
        ring_(ring),
        worker_(setup.recipe, context, faults) {}
  // Once, on the thread that decodes. Throws Error.
  void SetUp() { worker_.SetUp(number_); }
  // Returns once the ring is stopped.
  void Run();
  void Decode(const BatchRing::Rows& rows);

 private:
  RowWorker::Outcome Work(const BatchRing::Rows& rows, LoaderStats& spent);

  const unsigned number_;
  LoaderTrace* const trace_;  // null: there is none
  BatchRing& ring_;
  RowWorker worker_;
  ThreadUsage usage_;
};

// The same without a thread: LoaderOptions::threads = 0.
class ConsumerDecoder {
 public:
  // As DecoderThread's. The calling thread sets it up; throws Error.
  ConsumerDecoder(const LoaderSetup& setup, const DecodingContext& context, FaultLog& faults,
                  BatchRing& ring)
      : decoder_(0, setup, context, faults, ring) {
    decoder_.SetUp();
  }
  // A thread whose range has ended may still be in here when the next one comes.
  void Decode(const BatchRing::Rows& rows) {
    const MutexLock lock(mutex_);
    decoder_.Decode(rows);
  }

 private:
  Mutex mutex_;
  DecoderThread decoder_ GUARDED_BY(mutex_);
};

}  // namespace sluice
