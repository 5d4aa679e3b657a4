// planned_ is in the order of delivery, and handing_out_ is the index of its first slot with rows
// to take: a change of planned_ must correct it, too.
//
// A batch's last rows count as done only when the batch is closed and, for a device, uploaded. So
// `done == rows` means that it can be delivered. Abandon() cannot take a slot from threads that
// still work on it: such a slot leaves planned_, and the last of these threads frees it
// (CountDone()). Wherever the mutex is released, another range may begin, so the state must be
// looked at again.
#include "reader/loader/batch_ring.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include <unistd.h>

#include "format/disk/system_error.h"
#include "format/own_process.h"
#include "reader/reading/memory.h"

namespace sluice {

// Releases a slot when its last Batch is gone, and keeps its memory alive until then. A forked
// child releases nothing: its parent's threads may have held the ring's lock.
class BatchRing::Handle {
 public:
  Handle(BatchRing& ring, std::shared_ptr<void> owner) : owner_(std::move(owner)), ring_(ring) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (slot_ != nullptr && process_.IsThis()) ring_.Release(*slot_);
  }
  void Take(Slot& slot) noexcept { slot_ = &slot; }

 private:
  const std::shared_ptr<void> owner_;  // keeps the ring alive
  BatchRing& ring_;
  Slot* slot_ = nullptr;
  const OwnProcess process_;
};

namespace {

StreamCursor::Options CursorOptionsOf(const LoaderSetup& setup) {
  const LoaderOptions& options = setup.recipe.options;
  // Epochs differ in their number of batches only if whole shards are dealt, which is done again
  // for each epoch, or if the user composes the batches.
  const bool differ = options.ranks.by_shards || options.order.batches;
  return {setup.global_batch(), differ, setup.start, options.resume_from};
}

}  // namespace

BatchRing::BatchRing(const LoaderSetup& setup, LoaderDevice* device)
    : setup_(setup),
      options_(setup.recipe.options),
      device_(device),
      cursor_(setup.deal, CursorOptionsOf(setup)),
      measures_(setup.tuning, setup.recipe.options.on_device.decode) {
  const MutexLock lock(mutex_);
  if (device != nullptr && device->lanes() > 0) {
    uploads_.emplace(*device, planned_, measures_, setup.uploads_in_threads(),
                     [this](Slot& slot, std::size_t rows)
                         REQUIRES(mutex_) { CountDone(slot, rows); });
  }
  for (std::size_t i = 0; i < FirstSlots(setup); ++i)
    AddSlot(NewSlot(i));
}

void BatchRing::AddSlot(std::unique_ptr<Slot> slot) {
  free_.reserve(slots_.size() + 1);
  slots_.push_back(std::move(slot));
  free_.push_back(slots_.back().get());
}

BatchRing::~BatchRing() {
  if (!uploads_) return;
  device_->Finish();
  for (const std::unique_ptr<Slot>& slot : slots_)
    slot->device->Finish();
}

HostBuffer BatchRing::NewMemory() const {
  const std::size_t bytes = setup_.recipe.layout.bytes;
  return device_ != nullptr ? device_->NewMemory(bytes) : HostBuffer(bytes);
}

std::unique_ptr<Slot> BatchRing::NewSlot(std::size_t number) const {
  auto slot = std::make_unique<Slot>();
  slot->node = setup_.nodes.NodeOf(number);
  Prepare(*slot, setup_.recipe.layout, NewMemory());
  setup_.nodes.Place(slot->node, slot->memory.data(), slot->memory.size());
  if (device_ != nullptr) slot->device = device_->NewBatch(*slot);
  return slot;
}

// Gives a free slot new memory, because somebody else shares the old one.
void BatchRing::LeaveMemory(Slot& slot) const {
  RenewMemory(slot, NewMemory());
  setup_.nodes.Place(slot.node, slot.memory.data(), slot.memory.size());
  if (slot.device == nullptr) return;
  slot.device->Finish();
  slot.device = device_->NewBatch(slot);  // the old one's graphs have addresses of the old memory
}

bool BatchRing::Stop() {
  {
    const MutexLock lock(mutex_);
    if (stopping_) return false;
    payload_bytes_at_stop_ = measures_.counters.payload_bytes;
    stopping_ = true;
    give_up_.store(true, std::memory_order_relaxed);
    for (Slot* const slot : planned_)
      slot->abandoned.store(true, std::memory_order_relaxed);
    if (uploads_) uploads_->Stop();
  }
  for (Condition* const condition : {&to_plan_, &to_work_, &to_rest_, &ready_})
    condition->NotifyAll();
  return true;
}

void BatchRing::FailForMemory() noexcept {
  const MutexLock lock(mutex_);
  out_of_memory_ = true;
  ready_.NotifyAll();
}

ResumePoint BatchRing::Resume() {
  const MutexLock lock(mutex_);
  return cursor_.Resume();
}

LoaderStats BatchRing::Stats() {
  const MutexLock lock(mutex_);
  LoaderStats stats = measures_.Now();
  stats.rank = setup_.rank();
  stats.epoch_samples = cursor_.range_size().samples;
  stats.epoch_samples_of_all = cursor_.range_size().positions;
  stats.prefetch = slots_.size() - 1 - options_.ring.hold;
  return stats;
}

void BatchRing::Tune(const LoaderStats& interval) {
  const MutexLock lock(mutex_);
  if (measures_.Tune(interval)) NotifyTuned();
}

void BatchRing::NotifyTuned() {
  to_rest_.NotifyAll();
  to_work_.NotifyAll();  // some threads may have to rest
  to_plan_.NotifyOne();
}

std::uint64_t BatchRing::payload_bytes_at_stop() {
  const MutexLock lock(mutex_);
  return payload_bytes_at_stop_;
}

// --- The consumer's side.

std::uint64_t BatchRing::BeginRange(std::uint64_t epoch, const EpochSize& size,
                                    std::optional<EpochPart> part) {
  const MutexLock lock(mutex_);
  if (cursor_.BeginRange(epoch, size, part)) Abandon();
  empty_batches_ = 0;
  measures_.Start(Clock::now());
  to_plan_.NotifyOne();
  ready_.NotifyAll();  // a thread may be waiting for a batch of an earlier range
  consumer_.EndWalk();
  return cursor_.range();
}

void BatchRing::Abandon() {
  give_up_.store(true, std::memory_order_relaxed);
  for (Slot* const slot : planned_) {
    slot->abandoned.store(true, std::memory_order_relaxed);
    if (std::exchange(slot->to_upload, 0) > 0) --slot->in_hand;  // nobody will upload it
    if (slot->in_hand == 0) free_.push_back(slot);
  }
  planned_.clear();
  handing_out_ = 0;
}

std::shared_ptr<const Slot> BatchRing::Next(std::uint64_t range, const OneConsumer::Walk& walk,
                                            std::shared_ptr<void> owner) {
  // The handle is made first, so that a lack of memory changes nothing, and is released after the
  // mutex.
  const auto handle = std::make_shared<Handle>(*this, std::move(owner));
  const MutexLock lock(mutex_);
  if (range != cursor_.range()) return EndOfEarlier(range);
  consumer_.Require(range, walk);
  consumer_.EndWalk();
  if (cursor_.RangeIsOver()) return nullptr;
  consumer_.Begin(range, walk);
  try {
    std::shared_ptr<const Slot> batch = NextOfRange(handle);
    consumer_.End(range);
    return batch;
  } catch (...) {
    consumer_.End(range);
    throw;
  }
}

// Null if the range had delivered all its batches before a later one began. Otherwise it throws: a
// loop that ended in silence would look as if it had played the whole epoch.
std::shared_ptr<const Slot> BatchRing::EndOfEarlier(std::uint64_t range) const {
  if (cursor_.WasComplete(range)) return nullptr;
  throw Error(ErrorCode::kState,
              "another epoch of this Loader was begun, which ended this one: a Loader plays one "
              "epoch at a time; make a second Loader to play two");
}

std::shared_ptr<const Slot> BatchRing::NextOfRange(const std::shared_ptr<Handle>& handle) {
  const std::uint64_t range = cursor_.range();
  WaitForFront();
  if (range != cursor_.range()) return EndOfEarlier(range);  // another has begun meanwhile
  if (out_of_memory_) throw OutOfMemory();
  if (stopping_) {
    throw Error(ErrorCode::kState, "the Loader this epoch belongs to is gone; keep it alive");
  }
  if (!FrontIsDone()) {
    throw Error(ErrorCode::kState, "all " + std::to_string(slots_.size()) +
                                       " slots are held by batches that you keep; drop a batch "
                                       "before asking for another, or raise "
                                       "LoaderOptions::ring.hold");
  }
  return Deliver(handle);
}

bool BatchRing::WaitsForItself() const {
  return planned_.empty() && uploads_ && uploads_->WaitsForCaller();
}

bool BatchRing::FrontIsToCome(std::uint64_t range) const {
  return !stopping_ && !out_of_memory_ && range == cursor_.range() && !FrontIsDone() &&
         held_ < slots_.size() && !WaitsForItself();
}

bool BatchRing::WaitFor(std::uint64_t range, std::chrono::milliseconds most) {
  const auto until = Clock::now() + most;
  const MutexLock lock(mutex_);
  WaitTimer timer(measures_.consumer_waits);
  while (!cursor_.RangeIsOver() && FrontIsToCome(range) && !ConsumerHasRows()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) return false;
    timer.Begin();
    ready_.WaitFor(mutex_, left);
  }
  return true;
}

// Waits until something may have changed, but not beyond LoaderOptions::timeout.
void BatchRing::WaitReady(Clock::time_point begun) {
  if (options_.timeout.count() == 0) return ready_.Wait(mutex_);
  const auto waited = std::chrono::floor<std::chrono::milliseconds>(Clock::now() - begun);
  if (waited < options_.timeout) return ready_.WaitFor(mutex_, options_.timeout - waited);
  throw Error(ErrorCode::kIo, setup_.dataset.path().string(),
              "no batch came within " + std::to_string(options_.timeout.count()) +
                  " ms (LoaderOptions::timeout): its storage hangs or is slow, or the steps of the "
                  "transform take that long; step again to keep waiting");
}

// Waits until the next batch (the front) is done, or cannot become done: the ring is stopped, a
// thread lacks memory, the consumer holds all slots, or another epoch has begun.
void BatchRing::WaitForFront() {
  const std::uint64_t range = cursor_.range();
  Clock::time_point begun = Clock::now();
  for (;;) {
    while (FrontIsToCome(range) && ConsumerHasRows()) {
      const Rows rows = HandOut(0);
      {
        const MutexUnlock unlocked(mutex_);
        decode_here_(rows);
      }
      begun = Clock::now();
    }
    {
      WaitTimer timer(measures_.consumer_waits);
      const LoaderDeviceRange waiting(FrontIsToCome(range) ? device_ : nullptr,
                                      "Sluice: wait for a batch");
      while (FrontIsToCome(range) && !ConsumerHasRows()) {
        timer.Begin();
        WaitReady(begun);
      }
    }
    if (FrontIsToCome(range)) continue;  // the consumer has rows to decode
    if (stopping_ || out_of_memory_ || range != cursor_.range() || !WaitsForItself()) return;
    uploads_->RequireNoCapture(mutex_);
  }
}

std::shared_ptr<const Slot> BatchRing::Deliver(const std::shared_ptr<Handle>& handle) {
  Slot& slot = *planned_.front();
  planned_.pop_front();
  --handing_out_;  // the front's rows had all been handed out
  cursor_.Advance();
  if (slot.error) Fail(slot, *std::exchange(slot.error, std::nullopt));
  if (EndsEmptyEpoch(slot)) {
    Fail(slot, Error(ErrorCode::kIo, setup_.dataset.path().string(),
                     "epoch " + std::to_string(slot.epoch),
                     "no sample of the epoch could be read, so LoaderOptions::integrity.on_fault = "
                     "kSkip left all of them out; see Loader::Faults(), " +
                         std::string(setup_.recipe.dataset.facts->supply == nullptr
                                         ? "and run `sluice verify`"
                                         : "and whether the source's files are still there")));
  }
  cursor_.HandOver();
  ++held_;
  const auto ready =
      std::ranges::count_if(planned_, [](const Slot* s) { return s->done == s->rows; });
  const Clock::time_point now = Clock::now();
  measures_.CountBatch(slot.size, 1 + static_cast<std::uint64_t>(ready), now);
  if (measures_.TuneNowAndThen(now)) NotifyTuned();
  handle->Take(slot);
  return {handle, &slot};  // shares the handle, and points to the slot
}

void BatchRing::Fail(Slot& slot, const Error& error) {
  free_.push_back(&slot);
  to_plan_.NotifyOne();
  throw error;
}

bool BatchRing::EndsEmptyEpoch(const Slot& slot) {
  empty_batches_ = slot.size == 0 ? empty_batches_ + 1 : 0;
  return empty_batches_ > 0 &&
         empty_batches_ == setup_.deal.PlayedIn(slot.epoch, 0, cursor_.BatchesOf(slot.epoch));
}

void BatchRing::Release(Slot& slot) {
  if (slot.device != nullptr) slot.device->Release();
  {
    const MutexLock lock(mutex_);
    --held_;
    free_.push_back(&slot);
  }
  to_plan_.NotifyOne();
}

// The planner's side of BatchRing.

bool BatchRing::MayPlan() {
  return cursor_.begun() && !free_.empty() && cursor_.HasMore();
}

bool BatchRing::IsShort() const {
  return may_grow_ && slots_.size() < 1 + measures_.tuning().prefetch + options_.ring.hold;
}

BatchRing::Turn BatchRing::NextTurn(std::optional<std::uint64_t> in_hand, bool has_room) {
  using Task = Turn::Task;
  const MutexLock lock(mutex_);
  if (!in_hand) {
    WaitTimer timer(measures_.planner_waits);
    while (!stopping_ && !MayPlan() && !IsShort()) {
      timer.Begin();
      to_plan_.Wait(mutex_);
    }
  }
  Turn turn;
  turn.read_ahead_bytes = measures_.tuning().read_ahead_bytes;
  if (stopping_) {
    turn.task = Task::kStop;
  } else if (IsShort()) {
    turn.task = Task::kLengthen;
  } else if (in_hand && *in_hand != cursor_.stream()) {
    turn.task = Task::kForget;
  } else if (MayPlan() && (!in_hand || has_room)) {
    turn.task = Task::kPlan;
    // On the host, takes the slot used last, because it may still be in the CPU's caches. For a
    // device, takes the slot unused for longest, because its last copy is the most likely to have
    // ended.
    const auto next = uploads_ ? free_.begin() : std::prev(free_.end());
    turn.planned = {*next, cursor_.TakeToPlan(), cursor_.stream()};
    turn.next_epoch = cursor_.to_plan().epoch;
    free_.erase(next);
    give_up_.store(false, std::memory_order_relaxed);
  } else {
    turn.task = Task::kAwait;
  }
  return turn;
}

void BatchRing::GiveBack(Slot& slot) {
  const MutexLock lock(mutex_);
  free_.push_back(&slot);
}

void BatchRing::NoteBatches(std::uint64_t epoch, std::uint64_t batches) {
  const MutexLock lock(mutex_);
  cursor_.NoteBatches(epoch, batches);
}

void BatchRing::SetReadAhead(std::uint64_t bytes, const DurationHistogram& reads) {
  const MutexLock lock(mutex_);
  measures_.counters.read_ahead_bytes = bytes;
  if (measures_.counters.block_reads.count != reads.count) measures_.counters.block_reads = reads;
}

void BatchRing::Lengthen() {
  std::unique_ptr<Slot> slot;
  std::size_t number = 0;
  {
    const MutexLock lock(mutex_);
    number = slots_.size();
  }
  try {
    if (setup_.recipe.layout.bytes <= AvailableMemory()) slot = NewSlot(number);
  } catch (const std::exception&) {
    slot.reset();
  }
  const MutexLock lock(mutex_);
  may_grow_ = slot != nullptr;
  if (slot == nullptr) return;  // no more memory: the ring keeps its length
  try {
    AddSlot(std::move(slot));
  } catch (const std::bad_alloc&) {
    may_grow_ = false;
  }
}

bool BatchRing::Reclaim(Slot& slot) {
  if (slot.memory.is_shared()) LeaveMemory(slot);
  if (slot.device == nullptr) return true;
  const MutexLock lock(mutex_);
  return uploads_->Reclaim(slot, give_up_, ready_, mutex_);
}

bool BatchRing::Publish(const Planned& planned) {
  const MutexLock lock(mutex_);
  if (planned.stream != cursor_.stream()) return false;
  Slot& slot = *planned.slot;
  if (slot.error) {  // nothing to decode: deliver the error
    slot.error_row = 0;
    slot.rows = slot.handed_out = slot.done = 0;
    if (handing_out_ == planned_.size()) ++handing_out_;
  }
  if (slot.device != nullptr) slot.device->share.parts = measures_.device_parts();
  planned_.push_back(&slot);
  to_work_.NotifyOne();  // that thread wakes another if it leaves rows
  if (ConsumerHasRows() || (planned_.front() == &slot && slot.done == slot.rows))
    ready_.NotifyAll();
  return true;
}

// The decoder threads' side of BatchRing.

void BatchRing::DecodeInConsumer(std::function<void(const Rows&)> decode) {
  decode_here_ = std::move(decode);
}

std::optional<BatchRing::Rows> BatchRing::TakeRows(unsigned thread) {
  const MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && thread >= measures_.tuning().threads)
      to_rest_.Wait(mutex_);
    {
      WaitTimer timer(measures_.worker_waits);
      while (!stopping_ && !HasRows() && thread < measures_.tuning().threads) {
        timer.Begin();
        to_work_.Wait(mutex_);
      }
    }
    if (stopping_) return std::nullopt;
    if (thread < measures_.tuning().threads) return HandOut(setup_.nodes.NodeOf(thread));
  }
}

// Returns the slot from which a thread of that node takes rows: the first slot with rows to take.
// On a machine of several nodes, if another thread works on that slot already, looks at the next
// few slots as well, and returns the first one with rows whose memory lies on `node`, if there is
// one. So each batch is made by one node, and several batches are made at a time.
Slot& BatchRing::SlotFor(std::size_t node) {
  Slot& first = *planned_[handing_out_];
  if (setup_.nodes.count() == 0 || first.in_hand == 0) return first;
  const std::size_t end = std::min(planned_.size(), handing_out_ + setup_.nodes.count());
  for (std::size_t i = handing_out_; i < end; ++i) {
    Slot& slot = *planned_[i];
    if (slot.node == node && slot.handed_out < slot.rows) return slot;
  }
  return first;
}

BatchRing::Rows BatchRing::HandOut(std::size_t node) {
  Slot& slot = SlotFor(node);
  // If there is a batch for each thread, a thread may take all rows of one.
  const bool one_each = planned_.size() - handing_out_ >= measures_.tuning().threads;
  const std::size_t most = setup_.whole_batches && one_each ? slot.rows : RowsAtOnce();
  const auto first = static_cast<std::size_t>(batch_begin_ * static_cast<double>(slot.rows));
  const std::size_t begin = (first + slot.handed_out) % slot.rows;
  const Rows rows{&slot, begin, std::min(begin + most, begin < first ? first : slot.rows)};
  slot.handed_out += rows.end - begin;
  ++slot.in_hand;
  while (handing_out_ < planned_.size() &&
         planned_[handing_out_]->handed_out == planned_[handing_out_]->rows) {
    ++handing_out_;
  }
  if (HasRows()) to_work_.NotifyOne();  // for another thread
  return rows;
}

// Rows that take long, for example in a user's function, are taken few at a time. Otherwise, a few
// threads would have all rows of the ring, and the other threads none.
std::size_t BatchRing::RowsAtOnce() const {
  constexpr double kRunSeconds = 300e-6;
  if (row_seconds_ * double(setup_.rows_at_once) <= kRunSeconds) return setup_.rows_at_once;
  return std::max<std::size_t>(1, static_cast<std::size_t>(kRunSeconds / row_seconds_));
}

bool BatchRing::FinishRows(const Rows& rows, SlotFiller::Outcome outcome, const RowWork& work,
                           SlotFiller& filler) {
  Slot& slot = *rows.slot;
  const MutexLock lock(mutex_);
  const std::size_t count = rows.end - rows.begin;
  measures_.CountRows(count, work, filler.row_seconds());
  measures_.costs += outcome.costs;
  slot.left_out += outcome.left_out;
  if (outcome.error && (!slot.error || outcome.failed_row < slot.error_row)) {
    slot.error = std::move(outcome.error);
    slot.error_row = outcome.failed_row;
  }
  row_seconds_ += 0.1 * (work.seconds / double(count) - row_seconds_);
  if (slot.done + count == slot.rows && !slot.error &&
      !slot.abandoned.load(std::memory_order_relaxed) &&
      (slot.left_out > 0 || setup_.recipe.closes_batches)) {
    return true;
  }
  Complete(slot, count, filler);
  return false;
}

void BatchRing::Closed(const Rows& rows, std::optional<Error> error, SlotFiller& filler) {
  const MutexLock lock(mutex_);
  if (error) rows.slot->error = std::move(error);
  Complete(*rows.slot, rows.end - rows.begin, filler);
}

void BatchRing::Complete(Slot& slot, std::size_t rows, SlotFiller& filler) {
  if (uploads_ && slot.done + rows == slot.rows &&
      !slot.abandoned.load(std::memory_order_relaxed)) {
    uploads_->Add(slot, rows, filler, mutex_);
  } else {
    CountDone(slot, rows);
  }
}

void BatchRing::CountDone(Slot& slot, std::size_t rows) {
  --slot.in_hand;
  slot.done += rows;
  if (slot.abandoned.load(std::memory_order_relaxed)) {
    if (slot.in_hand == 0 && !stopping_) {
      free_.push_back(&slot);
      to_plan_.NotifyOne();
    }
    return;
  }
  if (slot.done == slot.rows && planned_.front() == &slot) ready_.NotifyAll();
}

void BatchRing::BeginUploadsUntilStopped() {
  const MutexLock lock(mutex_);
  uploads_->BeginUntilStopped(mutex_);
}

void BatchRing::EndUploadsUntilStopped(SlotFiller& filler) {
  const MutexLock lock(mutex_);
  uploads_->EndUntilStopped(filler, mutex_);
}

}  // namespace sluice
