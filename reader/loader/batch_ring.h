// The ring of slots that the planner, the decoder threads and the consumer share.
//
// A slot goes free -> planned (the planner fills in which samples it holds and makes them resident)
// -> decoded (workers take runs of rows, across slots, so that nobody waits at a batch's end) ->
// uploaded, if there is a device -> delivered in order -> free again, when the last Batch of it is
// dropped.
//
// One mutex guards everything but pixels; it is taken twice for a run of rows. Slot memory is
// handed from thread to thread by it: the planner writes a slot before it is published, a worker
// writes its rows before it finishes them, the consumer reads once all are.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <sluice/loader_stats.h>

#include "format/mutex.h"
#include "reader/batch/slot.h"
#include "reader/batch/uploader.h"
#include "reader/decoding/row_worker.h"
#include "reader/loader/loader_measures.h"
#include "reader/loader/loader_setup.h"
#include "reader/loader/one_consumer.h"
#include "reader/loader/stream_cursor.h"

namespace sluice {

class BatchRing {
 public:
  // How many slots it begins with.
  static std::size_t FirstSlots(const LoaderSetup& setup) noexcept {
    return 1 + setup.tuning.now().prefetch + setup.recipe.options.ring.hold;
  }
  // Takes the slots' memory, page-locked if there is a driver. All must outlive it; `driver` and
  // `uploader` may be null.
  BatchRing(const LoaderSetup& setup, std::shared_ptr<DeviceDriver> driver, Uploader* uploader);
  ~BatchRing();
  BatchRing(const BatchRing&) = delete;
  BatchRing& operator=(const BatchRing&) = delete;

  // Wakes every thread, and lets none wait again: TakeRows() gives none, NextTurn() says kStop, and
  // Next() throws. Any thread. False: it was stopped already.
  bool Stop();
  // What has been planned, or is being planned, is wanted no more. Read without the mutex.
  const std::atomic<bool>& give_up() const noexcept { return give_up_; }

  // --- The consumer's side; throws Error as Loader says.

  // Returns the range's number.
  std::uint64_t BeginRange(std::uint64_t epoch, const EpochSize& size);
  // The range's next batch, or null at its end. `owner` is kept for as long as the batch is.
  std::shared_ptr<const Slot> Next(std::uint64_t range, const OneConsumer::Walk& walk,
                                   std::shared_ptr<void> owner);
  ResumePoint Resume();
  // Threads', the ring's and the range's. Any thread.
  LoaderStats Stats();
  void Tune(const LoaderStats& interval);
  // How much had been decoded when Stop() came: what is more by now was in hand.
  std::uint64_t payload_bytes_at_stop();

  // --- The planner's side.

  // A batch that the planner has planned, and whose blocks are being read.
  struct Planned {
    Slot* slot = nullptr;
    BatchNumber number;
    std::uint64_t stream = 0;
  };
  struct Turn {
    enum class Task {
      kStop,      // end
      kLengthen,  // call Lengthen()
      kForget,    // another stream was begun: GiveBack() the batches in hand
      kPlan,      // `planned`; `ends_epoch`: it is the last batch of its epoch
      kAwait,     // the first batch in hand, and Publish() it
    };
    Task task = Task::kStop;
    Planned planned;
    bool ends_epoch = false;
    std::uint64_t read_ahead_bytes = 0;  // that may be in flight
  };
  // What to do next. `in_hand`: the batches planned and not published, oldest first; `has_room`:
  // another may be planned before they are read. Waits if there is nothing to do.
  Turn NextTurn(const std::deque<Planned>& in_hand, bool has_room);
  void GiveBack(const std::deque<Planned>& in_hand);
  // Waits until the slot's host memory may be written, and counts how long that took: its last
  // batch is on its way to a device. False: give_up() came first. Throws Error of the device.
  bool Reclaim(Slot& slot);
  // The batch is planned and its blocks are there, or its slot has an error. False: it is wanted no
  // more, and is still in hand.
  bool Publish(const Planned& planned);
  void Lengthen();
  void NoteBatches(std::uint64_t epoch, std::uint64_t batches);
  void CountReadAhead(std::uint64_t bytes);  // since the beginning

  // --- The decoder threads' side.

  struct Rows {
    Slot* slot = nullptr;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  // Waits for rows to decode; `thread` counts from 0. Empty: stopped.
  std::optional<Rows> TakeRows(unsigned thread);
  // They are done, with that outcome; `spent` are the counters that grow. True: they were the last
  // of the batch, which the thread is to close; then it calls Closed().
  bool FinishRows(const Rows& rows, RowWorker::Outcome outcome, const LoaderStats& spent);
  void Closed(const Rows& rows, std::optional<Error> error);

 private:
  class Handle;
  std::unique_ptr<Slot> NewSlot() const;
  void Release(Slot& slot);  // its last Batch is gone; any thread

  void Abandon() REQUIRES(mutex_);
  bool MayPlan(bool some_in_hand) REQUIRES(mutex_);
  bool IsShort() const REQUIRES(mutex_);
  bool FrontIsDone() const REQUIRES(mutex_) {
    return !planned_.empty() && planned_.front()->done == planned_.front()->rows;
  }
  // The front can never be done: its slot waits for the end of a capture by the calling thread.
  bool WaitsForItself() const REQUIRES(mutex_);
  void WaitForFront() REQUIRES(mutex_);
  std::shared_ptr<const Slot> NextOfRange(const std::shared_ptr<Handle>& handle) REQUIRES(mutex_);
  std::shared_ptr<const Slot> Deliver(const std::shared_ptr<Handle>& handle) REQUIRES(mutex_);
  std::shared_ptr<const Slot> Repeat() REQUIRES(mutex_);
  [[noreturn]] void Fail(Slot& slot, const Error& error) REQUIRES(mutex_);
  bool EndsEmptyEpoch(const Slot& slot) REQUIRES(mutex_);
  void Complete(Slot& slot, std::size_t rows) REQUIRES(mutex_);
  void CountDone(Slot& slot, std::size_t rows) REQUIRES(mutex_);
  // Takes batches whose rows are done to the device, in the order of their delivery: what comes
  // first must not wait for a place of what comes later. One thread at a time does it for all.
  void UploadInOrder() REQUIRES(mutex_);
  Slot* NextToUpload() const REQUIRES(mutex_);
  void NotifyTuned();

  const LoaderSetup& setup_;
  const LoaderOptions& options_;
  const std::shared_ptr<DeviceDriver> driver_;
  Uploader* const uploader_;
  std::atomic<bool> give_up_{false};

  Mutex mutex_;
  Condition to_plan_;  // planner: a slot is free, or the stream has changed
  Condition to_work_;  // decoder threads: rows are waiting
  Condition to_rest_;  // decoder threads: some that rested are to work again
  Condition ready_;    // consumer: the front is done
  bool stopping_ GUARDED_BY(mutex_) = false;
  StreamCursor cursor_ GUARDED_BY(mutex_);
  LoaderMeasures measures_ GUARDED_BY(mutex_);
  OneConsumer consumer_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Slot>> slots_ GUARDED_BY(mutex_);
  std::vector<Slot*> free_ GUARDED_BY(mutex_);
  std::deque<Slot*> planned_ GUARDED_BY(mutex_);    // published, in order of delivery
  std::size_t handing_out_ GUARDED_BY(mutex_) = 0;  // in planned_: the first with rows to take
  bool uploading_ GUARDED_BY(mutex_) = false;       // a thread is in UploadInOrder()
  std::size_t held_ GUARDED_BY(mutex_) = 0;         // slots that the consumer has
  bool may_grow_ GUARDED_BY(mutex_) = true;         // memory was there when it grew last
  // The stream being captured that the planner waits for before all else.
  std::optional<DeviceSlot::Named> captured_ GUARDED_BY(mutex_);
  // LoaderOptions::diagnostics.repeat_first_batch: the first.
  std::shared_ptr<const Slot> repeated_ GUARDED_BY(mutex_);
  std::uint64_t empty_batches_ GUARDED_BY(mutex_) = 0;  // in a row, of one epoch
  std::uint64_t payload_bytes_at_stop_ GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
