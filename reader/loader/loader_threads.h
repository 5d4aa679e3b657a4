// The loader's threads: one that plans batches and publishes them, and those that decode their
// rows.
#pragma once

#include <ctime>
#include <deque>
#include <memory>
#include <new>
#include <optional>

#include <sys/resource.h>

#include <sluice/error.h>
#include <sluice/loader_stats.h>
#include <sluice/loader_trace.h>

#include "format/disk/system_error.h"
#include "format/mutex.h"
#include "reader/batch/slot.h"
#include "reader/decoding/slot_filler.h"
#include "reader/decoding/stage_clock.h"
#include "reader/loader/batch_planner.h"
#include "reader/loader/batch_ring.h"

namespace sluice {

// The event for LoaderOptions::diagnostics.trace about work on a slot's rows.
inline TraceEvent SlotEvent(TraceEvent::Kind kind, unsigned thread, const BatchRing::Rows& rows,
                            Clock::time_point begin, Clock::time_point end) {
  const Slot& slot = *rows.slot;
  // The image that the consumer finds in Batch::image(), or else the slot's memory.
  const std::byte* place = slot.memory.data();
  if (slot.device != nullptr && !slot.images.empty())
    place = reinterpret_cast<const std::byte*>(slot.device->images[0].data);
  return {kind,
          thread,
          slot.epoch,
          slot.index,
          static_cast<std::uint32_t>(rows.begin),
          static_cast<std::uint32_t>(rows.end - rows.begin),
          reinterpret_cast<const std::uint8_t*>(place),
          begin,
          end};
}

// Runs the set-up of each decoder thread on that thread, and lets the thread that starts them wait
// until all are through.
class ThreadSetups {
 public:
  class Gate {
   public:
    explicit Gate(unsigned threads) : left_(threads) {}
    // Returns false if the set-up threw: then the thread must end.
    template <class SetUp>
    bool Run(const SetUp& set_up) {
      std::optional<Error> error;
      try {
        set_up();
      } catch (const Error& thrown) {
        error = thrown;
      } catch (const std::bad_alloc&) {
        error = OutOfMemory();
      }
      const bool done = !error;
      const MutexLock lock(mutex_);
      if (error && !error_) error_ = std::move(error);
      if (--left_ == 0) through_.NotifyAll();
      return done;
    }

   private:
    friend class ThreadSetups;
    Mutex mutex_;
    Condition through_;
    unsigned left_ GUARDED_BY(mutex_);
    std::optional<Error> error_ GUARDED_BY(mutex_);
  };

  explicit ThreadSetups(unsigned threads) : gate_(std::make_shared<Gate>(threads)) {}
  const std::shared_ptr<Gate>& gate() const noexcept { return gate_; }
  // Throws the first Error of a set-up, once all are through.
  void Await() {
    const MutexLock lock(gate_->mutex_);
    while (gate_->left_ > 0)
      gate_->through_.Wait(gate_->mutex_);
    if (gate_->error_) throw *gate_->error_;
  }

 private:
  const std::shared_ptr<Gate> gate_;  // the threads share it
};

// The CPU time and page faults of the calling thread. The kernel is asked for them only now and
// then, because asking costs more than decoding a small sample.
class ThreadUsage {
 public:
  // Asks the kernel again if it was last asked at least `kEvery` ago.
  void Sample(Clock::time_point now) noexcept {
    constexpr std::chrono::milliseconds kEvery{50};
    if (now - asked_ < kEvery) return;
    asked_ = now;
    rusage usage{};
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return;
    cpu_seconds_ = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
    major_faults_ = static_cast<std::uint64_t>(usage.ru_majflt);
  }
  // Adds to `work` what the thread has used since the last call, as far as the kernel was asked.
  void MoveTo(RowWork& work) noexcept {
    work.cpu_seconds += cpu_seconds_ - moved_cpu_seconds_;
    work.major_faults += major_faults_ - moved_major_faults_;
    moved_cpu_seconds_ = cpu_seconds_;
    moved_major_faults_ = major_faults_;
  }

 private:
  static double Seconds(const timeval& time) noexcept {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  Clock::time_point asked_;
  double cpu_seconds_ = 0;
  double moved_cpu_seconds_ = 0;
  std::uint64_t major_faults_ = 0;
  std::uint64_t moved_major_faults_ = 0;
};

// A thread that decodes runs of rows of the ring's slots.
class DecoderThread {
 public:
  // `number` counts from 0. All must outlive it.
  DecoderThread(unsigned number, const LoaderSetup& setup, const DecodingContext& context,
                FaultLog& faults, BatchRing& ring)
      : number_(number),
        trace_(setup.recipe.options.diagnostics.trace.get()),
        ring_(ring),
        filler_(setup.recipe, context, faults) {}
  // Call it once, on the thread that decodes. Throws Error.
  void SetUp() { filler_.SetUp(number_); }
  // Returns once the ring is stopped.
  void Run();
  void Decode(const BatchRing::Rows& rows);

 private:
  SlotFiller::Outcome Work(const BatchRing::Rows& rows, RowWork& work);

  const unsigned number_;
  LoaderTrace* const trace_;  // may be null
  BatchRing& ring_;
  SlotFiller filler_;
  ThreadUsage usage_;
  PartTimes times_;
  std::uint64_t runs_ = 0;  // of rows, so far
};

// Does the work of a DecoderThread on the consumer's own thread: LoaderOptions::threads = 0.
class ConsumerDecoder {
 public:
  // Parameters as for DecoderThread. Sets the decoder up on the calling thread. Throws Error.
  ConsumerDecoder(const LoaderSetup& setup, const DecodingContext& context, FaultLog& faults,
                  BatchRing& ring)
      : decoder_(0, setup, context, faults, ring) {
    decoder_.SetUp();
  }
  // Takes the mutex: a thread whose range has ended may still be decoding when the thread of the
  // next range calls Decode().
  void Decode(const BatchRing::Rows& rows) {
    const MutexLock lock(mutex_);
    decoder_.Decode(rows);
  }

 private:
  Mutex mutex_;
  DecoderThread decoder_ GUARDED_BY(mutex_);
};

// The thread that plans batches, starts reading their blocks, and publishes them for decoding.
class PlannerThread {
 public:
  // All must outlive it.
  PlannerThread(const LoaderSetup& setup, BlockSource& source, BatchRing& ring);
  // Returns once the ring is stopped.
  void Run();

 private:
  struct InHand {
    BatchRing::Planned planned;
    std::uint64_t blocks = 0;  // for BlockSource::Await()
    Clock::time_point since;   // when planning began, if there is a trace
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
