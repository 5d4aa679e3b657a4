// The ring of slots that the planner, the decoder threads and the consumer share.
//
// A slot goes free -> planned (the planner chooses its samples and has them read) -> decoded
// (workers take runs of rows, across slots, so that none waits at a batch's end) -> uploaded, if
// there is a device (UploadQueue) -> delivered in order -> free again, when its last Batch is
// dropped.
//
// One mutex guards everything but pixels; a worker takes it twice for each run of rows. It also
// orders access to slot memory: the planner writes a slot before it publishes it, a worker writes
// its rows before it reports them finished, and the consumer reads once all rows are finished.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <sluice/loader_stats.h>

#include "format/mutex.h"
#include "reader/batch/slot.h"
#include "reader/decoding/slot_filler.h"
#include "reader/loader/loader_measures.h"
#include "reader/loader/loader_setup.h"
#include "reader/loader/stream_cursor.h"
#include "reader/loader/upload_queue.h"

namespace sluice {

class BatchRing {
 public:
  // The number of slots at the start.
  static std::size_t FirstSlots(const LoaderSetup& setup) noexcept {
    return 1 + setup.tuning.now().prefetch + setup.recipe.options.ring.hold;
  }
  // Allocates the slots' memory, on `device` if it is not null. `setup` and `device` must outlive
  // the ring.
  BatchRing(const LoaderSetup& setup, LoaderDevice* device);
  ~BatchRing();
  BatchRing(const BatchRing&) = delete;
  BatchRing& operator=(const BatchRing&) = delete;

  // Wakes every thread and makes further waits return at once: TakeRows() gives no rows, NextTurn()
  // says kStop, and Next() throws. Any thread may call it. Returns false if the ring was stopped
  // already.
  bool Stop();
  // A thread of the loader calls this before it ends for lack of memory. From then on, Next()
  // throws OutOfMemory().
  void FailForMemory() noexcept;
  // Set when nobody wants the planned batches any more, nor the one being planned. It may be read
  // without the mutex.
  const std::atomic<bool>& give_up() const noexcept { return give_up_; }

  // --- The consumer's side. Throws Error as Loader documents.

  // Returns the range's number.
  std::uint64_t BeginRange(std::uint64_t epoch, const EpochSize& size,
                           std::optional<EpochPart> part = {});
  // The range's next batch, or null at its end. The batch keeps `owner` alive. Throws if a later
  // range began before this one had delivered all its batches.
  std::shared_ptr<const Slot> Next(std::uint64_t range, const OneConsumer::Walk& walk,
                                   std::shared_ptr<void> owner);
  // Waits until Next() would not have to wait for a batch, but no longer than `most`. Returns false
  // if Next() would still have to wait.
  bool WaitFor(std::uint64_t range, std::chrono::milliseconds most);
  ResumePoint Resume();
  // Figures of the threads, the ring and the range. Any thread.
  LoaderStats Stats();
  void Tune(const LoaderStats& interval);
  // The payload bytes decoded when Stop() was called. Workers then still finished the samples they
  // had begun.
  std::uint64_t payload_bytes_at_stop();

  // --- The planner's side.

  // A batch in the planner's hand: planned, its blocks being read, not published yet.
  struct Planned {
    Slot* slot = nullptr;
    BatchNumber number;
    std::uint64_t stream = 0;  // the stream of batches that it belongs to (StreamCursor::stream())
  };
  struct Turn {
    enum class Task {
      kStop,      // end
      kLengthen,  // call Lengthen() for one more slot
      kForget,    // another stream has begun: GiveBack() the slots in hand
      kPlan,      // plan `planned`; `next_epoch`: that of the batch after it
      kAwait,     // wait for the blocks of the first batch in hand, then Publish() it
    };
    Task task = Task::kStop;
    Planned planned;
    std::uint64_t next_epoch = 0;
    std::uint64_t read_ahead_bytes = 0;  // the most that may be in flight
  };
  // Says what to do next; waits while there is nothing. `in_hand` is the stream of the batches
  // planned and not published, if there are any. `has_room` says whether the planner may plan
  // another batch before those are read.
  Turn NextTurn(std::optional<std::uint64_t> in_hand, bool has_room);
  void GiveBack(Slot& slot);
  // Waits until the slot's host memory may be written, since the slot's last batch may still be on
  // its way to a device, and counts the time. Gives the slot new memory if a user's function has
  // kept the old. Returns false if give_up() was set first. Throws the device's Error, and
  // std::bad_alloc.
  bool Reclaim(Slot& slot);
  // Hands the batch to the decoder threads once its blocks are there or its slot has an error.
  // Returns false if nobody wants the batch any more; then it is still in the planner's hand.
  bool Publish(const Planned& planned);
  void Lengthen();
  void NoteBatches(std::uint64_t epoch, std::uint64_t batches);
  // The bytes read ahead, and the waits for each block, since the loader began.
  void SetReadAhead(std::uint64_t bytes, const DurationHistogram& reads);

  // --- The decoder threads' side.

  struct Rows {
    Slot* slot = nullptr;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  // Hands out a batch's rows from that share of them on, and those before it last. Call BeginAt()
  // before the first range.
  void BeginAt(double share) noexcept { batch_begin_ = share; }
  // For LoaderOptions::threads = 0: from now on, the consumer's thread calls `decode` for rows of
  // the batch that it waits for, or of later ones. Call DecodeInConsumer() before the first range.
  void DecodeInConsumer(std::function<void(const Rows&)> decode);

  // Waits for rows to decode. `thread` counts from 0. Returns nothing once the ring is stopped.
  std::optional<Rows> TakeRows(unsigned thread);
  // Reports rows as done, and counts `work`. Returns true if these were the batch's last rows and
  // the batch needs closing; the thread must then close it and call Closed(). `filler` is the
  // calling thread's own SlotFiller: it may have timed single rows, and if the thread uploads
  // batches, it decodes the pictures that the device could not decode.
  bool FinishRows(const Rows& rows, SlotFiller::Outcome outcome, const RowWork& work,
                  SlotFiller& filler);
  void Closed(const Rows& rows, std::optional<Error> error, SlotFiller& filler);

  // --- The side of the two uploading threads, if LoaderSetup::uploads_in_threads(): what
  // UploadQueue does until the ring is stopped.

  void BeginUploadsUntilStopped();
  void EndUploadsUntilStopped(SlotFiller& filler);

 private:
  class Handle;
  HostBuffer NewMemory() const;
  std::unique_ptr<Slot> NewSlot(std::size_t number) const;
  void LeaveMemory(Slot& slot) const;
  void Release(Slot& slot);  // the slot's last Batch is gone; any thread

  bool HasRows() const REQUIRES(mutex_) { return handing_out_ < planned_.size(); }
  Rows HandOut(std::size_t node) REQUIRES(mutex_);  // HasRows() must be true
  Slot& SlotFor(std::size_t node) REQUIRES(mutex_);
  std::size_t RowsAtOnce() const REQUIRES(mutex_);
  bool ConsumerHasRows() const REQUIRES(mutex_) { return decode_here_ && HasRows(); }
  void Abandon() REQUIRES(mutex_);
  bool MayPlan() REQUIRES(mutex_);
  bool IsShort() const REQUIRES(mutex_);  // whether to add a slot, since the tuning asks for more
  bool FrontIsDone() const REQUIRES(mutex_) {
    return !planned_.empty() && planned_.front()->done == planned_.front()->rows;
  }
  void AddSlot(std::unique_ptr<Slot> slot) REQUIRES(mutex_);
  // Whether the next batch can never be done, because its slot waits until the calling thread ends
  // its own capture.
  bool WaitsForItself() const REQUIRES(mutex_);
  // Whether the range's next batch is not done yet, but can still become done.
  bool FrontIsToCome(std::uint64_t range) const REQUIRES(mutex_);
  void WaitForFront() REQUIRES(mutex_);
  void WaitReady(Clock::time_point begun) REQUIRES(mutex_);
  std::shared_ptr<const Slot> NextOfRange(const std::shared_ptr<Handle>& handle) REQUIRES(mutex_);
  std::shared_ptr<const Slot> EndOfEarlier(std::uint64_t range) const REQUIRES(mutex_);
  std::shared_ptr<const Slot> Deliver(const std::shared_ptr<Handle>& handle) REQUIRES(mutex_);
  [[noreturn]] void Fail(Slot& slot, const Error& error) REQUIRES(mutex_);
  // Whether the slot's batch is the last of an epoch, and all batches of that epoch were empty.
  bool EndsEmptyEpoch(const Slot& slot) REQUIRES(mutex_);
  // Counts rows as done, at once, or, if they are the last of a batch for a device, once the batch
  // is uploaded.
  void Complete(Slot& slot, std::size_t rows, SlotFiller& filler) REQUIRES(mutex_);
  // Counts rows as done. If the slot was abandoned, and nobody works on it any more, frees it.
  void CountDone(Slot& slot, std::size_t rows) REQUIRES(mutex_);
  void NotifyTuned();

  const LoaderSetup& setup_;
  const LoaderOptions& options_;
  LoaderDevice* const device_;
  std::atomic<bool> give_up_{false};
  std::function<void(const Rows&)> decode_here_;  // empty: there are decoder threads
  double batch_begin_ = 0;                        // see BeginAt()

  Mutex mutex_;
  Condition to_plan_;  // wakes the planner: a slot is free, or the stream has changed
  Condition to_work_;  // wakes decoder threads: rows are waiting
  Condition to_rest_;  // wakes resting decoder threads: more threads shall work
  Condition ready_;    // wakes the consumer, and all who are in WaitFor(): the front is done
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool out_of_memory_ GUARDED_BY(mutex_) = false;  // a thread has ended for lack of memory
  StreamCursor cursor_ GUARDED_BY(mutex_);
  LoaderMeasures measures_ GUARDED_BY(mutex_);
  OneConsumer consumer_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Slot>> slots_ GUARDED_BY(mutex_);
  std::vector<Slot*> free_ GUARDED_BY(mutex_);    // has room for all slots: Release() may not throw
  std::deque<Slot*> planned_ GUARDED_BY(mutex_);  // published, in order of delivery
  std::size_t handing_out_ GUARDED_BY(mutex_) = 0;         // first of planned_ with rows to take
  double row_seconds_ GUARDED_BY(mutex_) = 0;              // a thread's recent time for a row
  std::optional<UploadQueue> uploads_ GUARDED_BY(mutex_);  // if batches go to a device
  std::size_t held_ GUARDED_BY(mutex_) = 0;                // slots that the consumer has
  bool may_grow_ GUARDED_BY(mutex_) = true;             // there was memory for the last slot added
  std::uint64_t empty_batches_ GUARDED_BY(mutex_) = 0;  // in a row, in one epoch
  std::uint64_t payload_bytes_at_stop_ GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
