// The running loader: a ring of slots, a planning thread, decoding threads, and the consumer's
// side.
//
// A slot goes free -> planned (the planner fills in which samples it holds and makes them resident)
// -> decoded (workers take runs of rows, across slots, so that nobody waits at a batch's end) ->
// delivered in order -> free again, when the last Batch of it is dropped. Batches form one endless
// stream: after the last of epoch n comes the first of n + 1. Asking for another epoch abandons the
// stream.
//
// One mutex guards everything but pixels; it is taken twice for a run of rows. Slot memory is
// handed from thread to thread by it: the planner writes a slot before it enters `planned_`, a
// worker writes its rows before it counts them done, the consumer reads once all are.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <sluice/loader.h>

#include "reader/batch/batch_program.h"
#include "reader/batch/slot.h"
#include "reader/batch/uploader.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/storage_choice.h"
#include "reader/decoding/compared_payloads.h"
#include "reader/decoding/fault_log.h"
#include "reader/decoding/follow_plan.h"
#include "reader/decoding/stage_clock.h"
#include "reader/loader/batch_planner.h"
#include "reader/loader/description.h"
#include "reader/order/deal.h"
#include "reader/reading/decoded_store.h"
#include "reader/reading/shard_stage.h"
#include "reader/transform/view_program.h"

namespace sluice {

class RowWorker;

struct LoaderState : std::enable_shared_from_this<LoaderState> {
 public:
  LoaderState(Dataset dataset, LoaderOptions options);
  ~LoaderState();

  // Consumer. StartEpoch returns the number of a range; Next gives its next batch, or one without a
  // slot at its end; `walk` is the iterator's mark, if one asks. Next throws Error.
  std::uint64_t StartEpoch(std::uint64_t epoch);
  Batch Next(std::uint64_t range, const std::shared_ptr<const char>& walk = nullptr);

  // Ends the threads after the samples in hand; every later Next throws. Any thread.
  void Stop();
  // How much had been decoded when Stop() came: what is more by now was in hand.
  std::uint64_t payload_bytes_at_stop() const noexcept { return payload_bytes_at_stop_; }

  LoaderStats Stats();
  // Lets what happened change what the loader chooses by itself; done now and then by the consumer.
  void Tune(const LoaderStats& interval);
  std::vector<SampleFault> Faults() const { return faults_.List(); }
  ResumePoint State();
  EpochSize SizeOf(std::uint64_t epoch) const { return deal_.SizeOf(epoch); }
  Rank rank() const noexcept {
    return {options_.ranks.rank, options_.ranks.world_size, rank_variables_};
  }
  unsigned threads() const noexcept { return *options_.threads; }
  std::size_t memory_bytes() const noexcept { return SlotsOf(options_) * layout_.bytes; }
  LoaderMemory Memory() const;
  std::string Describe() const;

 private:
  static Dataset WithOwnShards(const Dataset& dataset, const LoaderOptions& options);
  void StartThreads();
  void RunPlanner(BatchPlanner& planner);
  void RunWorker(unsigned thread, RowWorker& worker);
  // For LoaderOptions::diagnostics.trace; nothing where there is none.
  void Record(TraceEvent::Kind kind, unsigned thread, const Slot& slot, std::size_t begin_row,
              std::size_t end_row, Clock::time_point begin, Clock::time_point end);
  void FinishRows(RowWorker& worker, Slot& slot, std::size_t rows,
                  std::unique_lock<std::mutex>& lock);
  std::unique_ptr<Slot> NewSlot();
  // The rows are done, and the worker's hand is off the slot. Mutex held.
  void CountDone(Slot& slot, std::size_t rows);
  // Takes batches to the device whose rows are done, in the order of their delivery: what comes
  // first must not wait for a place of what comes later. One thread at a time does it for all.
  void UploadInOrder(std::unique_lock<std::mutex>& lock);
  Slot* NextToUpload();  // mutex held; null: none
  // Makes a slot whose batch was on the device ready for another one. Planner. False: no longer
  // wanted.
  bool Reclaim(Slot& slot);
  void Abandon();            // mutex held
  void Release(Slot* slot);  // the consumer is done with it; any thread
  void ResetForPlanning(Slot& slot);
  // A batch that has been planned, and is being read.
  struct Asked {
    Slot* slot = nullptr;
    std::uint64_t plan = 0;  // of BatchPlanner
    std::uint64_t generation = 0;
    Clock::time_point since;
  };
  // For the planner; they hold the mutex but for the work itself.
  Asked PlanNext(BatchPlanner& planner, std::unique_lock<std::mutex>& lock);
  void Publish(const Asked& asked);
  bool FrontIsDone() const noexcept {
    return !planned_.empty() && planned_.front()->done == planned_.front()->rows;
  }
  Batch NextOfRange(std::unique_lock<std::mutex>& lock);  // the range is not over
  // Until the front is done, or there is none to wait for: stopped, all held, or another epoch
  // asked for. Throws Error where it could never be, because the calling thread is capturing a
  // stream.
  void WaitForFront(std::unique_lock<std::mutex>& lock);
  void RequireOneConsumer(const std::shared_ptr<const char>& walk) const;  // mutex held
  Batch Deliver();  // mutex held; the front is done
  // Whether it is the last batch of an epoch in which nothing came. Mutex held.
  bool EndsEmptyEpoch(const Slot& slot);
  LoaderStats StatsNow();                             // mutex held
  void TuneNow(const LoaderStats& interval);          // mutex held
  void TuneNowAndThen();                              // mutex held
  bool RingIsShort() const noexcept;                  // mutex held
  void Lengthen(std::unique_lock<std::mutex>& lock);  // the ring, by a slot
  Batch Repeat();                                     // mutex held; there is a batch to repeat
  void Advance();                                     // mutex held; the stream, by one batch
  // Waits for what `ready` says, on one of the clocks above.
  template <class Ready>
  void Wait(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
            WaitClock& clock, Ready ready);
  bool MayPlan(bool some_asked);  // mutex held
  std::uint64_t GlobalBatch() const noexcept {
    return options_.batch_size * options_.ranks.world_size;
  }
  std::uint64_t BatchesOf(std::uint64_t epoch);                  // mutex held
  void NoteBatches(std::uint64_t epoch, std::uint64_t batches);  // mutex held

  Dataset dataset_;
  SelfTuning tuning_;                // guarded by the mutex
  std::string_view rank_variables_;  // of Rank
  LoaderOptions options_;            // with the most that `tuning_` may choose
  std::vector<ViewProgram> views_;
  FieldChoice choice_;
  BatchProgram batch_program_;
  SlotLayout layout_;
  FollowPlan follow_;
  Deal deal_;
  std::size_t rows_at_once_ = 1;          // what a worker takes
  std::shared_ptr<DeviceDriver> driver_;  // of slots in page-locked memory; null: they are not
  std::unique_ptr<Uploader> uploader_;    // LoaderOptions::device; null: the host
  std::vector<std::unique_ptr<Slot>> slots_;
  FaultLog faults_;
  std::unique_ptr<DecodedStore> decoded_;  // LoaderOptions::keep
  std::unique_ptr<ShardStage> stage_;      // LoaderOptions::stage; gone once stopped
  std::unique_ptr<DirectFiles> direct_;    // LoaderOptions::storage = Direct
  std::unique_ptr<BlockSource> source_;    // the planner's
  ComparedPayloads compared_;

  std::mutex mutex_;
  std::condition_variable plan_;   // planner: a slot is free, or the stream has changed
  std::condition_variable work_;   // workers: rows are waiting
  std::condition_variable rest_;   // workers: some that rested are to work again
  std::condition_variable ready_;  // consumer: the front is done
  bool stopping_ = false;
  std::atomic<bool> give_up_{false};  // what the planner reads now: nobody wants it any more
  bool playing_ = false;              // an epoch has been asked for
  std::uint64_t generation_ = 0;      // of the stream; a plan made for another one is dropped
  std::uint64_t plan_epoch_ = 0;      // what the planner does next
  std::uint64_t plan_batch_ = 0;
  std::uint64_t next_epoch_ = 0;  // what the consumer gets next
  std::uint64_t next_batch_ = 0;
  ResumePoint start_;             // of the stream, for State()
  bool resume_due_ = false;       // the epoch of options_.resume_from has not been asked for yet
  std::uint64_t done_epoch_ = 0;  // behind the last batch handed over: what State() says
  std::uint64_t done_batch_ = 0;
  std::uint64_t range_ = 0;  // of the last StartEpoch
  std::uint64_t range_epoch_ = 0;
  EpochSize range_size_;  // of its epoch; at first of the one that a stream begins with
  // Who consumes: the range that a thread is in Next() for (0: none), and the walk that took the
  // last step, if it is not over, with its thread.
  std::uint64_t stepping_ = 0;
  std::weak_ptr<const char> walk_;
  std::thread::id walker_;
  // What BatchesOf() knows, of few epochs. To deal whole shards takes time with many of them:
  // whoever comes to an epoch first does it before taking the mutex.
  struct SizedEpoch {
    std::uint64_t epoch = 0;
    std::uint64_t batches = 0;
  };
  std::deque<SizedEpoch> sized_;
  std::vector<Slot*> free_;
  std::deque<Slot*> planned_;                  // in order of delivery
  std::size_t handing_out_ = 0;                // in planned_: the first with rows nobody has taken
  bool uploading_ = false;                     // a thread is in UploadInOrder()
  std::size_t held_ = 0;                       // slots the consumer has
  std::optional<DeviceSlot::Named> captured_;  // what the planner waits for before all else
  std::shared_ptr<const Slot> repeated_;  // LoaderOptions::diagnostics.repeat_first_batch: the one

  LoaderStats stats_;  // counters; times are completed by Stats()
  std::uint64_t payload_bytes_at_stop_ = 0;
  Clock::time_point played_since_;
  WaitClock planner_waits_;
  WaitClock worker_waits_;
  WaitClock consumer_waits_;
  std::uint64_t ready_batches_ = 0;  // summed over batches
  std::uint64_t empty_batches_ = 0;  // in a row, of one epoch
  LoaderStats learned_;              // where the last interval for tuning_ ended
  bool ring_may_grow_ = true;

  std::vector<std::thread> threads_;  // planner first
};

template <class Ready>
void LoaderState::Wait(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                       WaitClock& clock, Ready ready) {
  if (ready()) return;
  const Clock::time_point begun = Clock::now();
  clock.Begin(begun);
  condition.wait(lock, ready);
  clock.End(begun, Clock::now());
}

}  // namespace sluice
