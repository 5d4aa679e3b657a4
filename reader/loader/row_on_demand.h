// Makes one row of an epoch at a time, outside of the ring, for Loader::Row(). Thread-safe; the
// caller's thread decodes.
#pragma once

#include <memory>

#include <sluice/loader_memory.h>

#include "format/mutex.h"
#include "reader/batch/slot.h"
#include "reader/decoding/faults.h"
#include "reader/decoding/slot_filler.h"
#include "reader/loader/loader_setup.h"

namespace sluice {

class RowOnDemand {
 public:
  // The setup and the objects of `context` must outlive it.
  RowOnDemand(const LoaderSetup& setup, const DecodingContext& context)
      : setup_(setup), context_(context) {
    context_.new_painter = nullptr;  // the host makes the row, without a device
    context_.shared_rows = nullptr;  // the row is not taken from other loaders
  }

  // The row of the sample in that epoch, as a slot of one row that keeps `owner` alive. Throws
  // Error.
  std::shared_ptr<const Slot> Make(std::uint64_t sample, std::uint64_t epoch,
                                   std::shared_ptr<void> owner);
  // The memory that this object adds to the loader's, with one row; further rows that callers hold
  // are not counted.
  LoaderMemory Memory();

 private:
  // The recipe of a batch of one row, and the worker that makes it. Made when a row is first asked
  // for.
  struct Worker {
    Worker(const LoaderSetup& setup, const DecodingContext& context);
    BatchRecipe recipe;
    FaultLog faults;  // never reported: the caller gets the error
    SlotFiller rows;
  };

  const LoaderSetup& setup_;
  DecodingContext context_;
  Mutex mutex_;
  std::shared_ptr<Worker> worker_ GUARDED_BY(mutex_);
};

}  // namespace sluice
