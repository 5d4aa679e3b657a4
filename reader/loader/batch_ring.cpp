#include "reader/loader/batch_ring.h"

#include <algorithm>
#include <utility>

#include "format/disk/system_error.h"

namespace sluice {

// Releases a slot when its last Batch is gone, and keeps its memory alive until then.
class BatchRing::Handle {
 public:
  Handle(BatchRing& ring, std::shared_ptr<void> owner) : owner_(std::move(owner)), ring_(ring) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (slot_ != nullptr) ring_.Release(*slot_);
  }
  void Take(Slot& slot) noexcept { slot_ = &slot; }

 private:
  const std::shared_ptr<void> owner_;  // keeps the ring alive
  BatchRing& ring_;
  Slot* slot_ = nullptr;
};

namespace {

StreamCursor::Options CursorOptionsOf(const LoaderSetup& setup) {
  const LoaderOptions& options = setup.recipe.options;
  // Epochs differ in their number of batches only if whole shards are dealt, which is done anew for
  // each, and if the user composes them.
  const bool differ = options.ranks.by_shards || options.order.batches;
  return {setup.global_batch(), differ, setup.start, options.resume_from};
}

}  // namespace

BatchRing::BatchRing(const LoaderSetup& setup, LoaderDevice* device)
    : setup_(setup),
      options_(setup.recipe.options),
      device_(device),
      uploads_batches_(device != nullptr && device->lanes() > 0),
      cursor_(setup.deal, CursorOptionsOf(setup)),
      measures_(setup.tuning, setup.recipe.options.on_device.decode) {
  const MutexLock lock(mutex_);
  if (uploads_batches_) uploads_.reserve(device_->lanes());
  for (std::size_t i = 0; i < FirstSlots(setup); ++i)
    AddSlot(NewSlot(i));
}

void BatchRing::AddSlot(std::unique_ptr<Slot> slot) {
  free_.reserve(slots_.size() + 1);
  slots_.push_back(std::move(slot));
  free_.push_back(slots_.back().get());
}

BatchRing::~BatchRing() {
  if (!uploads_batches_) return;
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
  if (uploads_batches_) slot->device = device_->NewBatch(*slot);
  return slot;
}

// The slot is free, and somebody else shares its memory.
void BatchRing::LeaveMemory(Slot& slot) const {
  RenewMemory(slot, NewMemory());
  setup_.nodes.Place(slot.node, slot.memory.data(), slot.memory.size());
  if (!uploads_batches_) return;
  slot.device->Finish();
  slot.device = device_->NewBatch(slot);  // what it has recorded for the device names the memory
}

bool BatchRing::Stop() {
  std::shared_ptr<const Slot> repeated;  // released after the mutex
  {
    const MutexLock lock(mutex_);
    if (stopping_) return false;
    payload_bytes_at_stop_ = measures_.counters.payload_bytes;
    stopping_ = true;
    give_up_.store(true, std::memory_order_relaxed);
    for (Slot* const slot : planned_)
      slot->abandoned.store(true, std::memory_order_relaxed);
    repeated.swap(repeated_);
  }
  for (Condition* const condition :
       {&to_plan_, &to_work_, &to_upload_, &to_end_, &to_rest_, &ready_})
    condition->NotifyAll();
  return true;
}

void BatchRing::GiveUp() noexcept {
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

std::uint64_t BatchRing::BeginRange(std::uint64_t epoch, const EpochSize& size) {
  const MutexLock lock(mutex_);
  if (cursor_.BeginRange(epoch, size)) Abandon();
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
  // Made first, so that a lack of memory changes nothing; released after the mutex.
  const auto handle = std::make_shared<Handle>(*this, std::move(owner));
  const MutexLock lock(mutex_);
  if (range != cursor_.range()) return nullptr;
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

std::shared_ptr<const Slot> BatchRing::NextOfRange(const std::shared_ptr<Handle>& handle) {
  if (repeated_ != nullptr && !stopping_) return Repeat();
  const std::uint64_t range = cursor_.range();
  WaitForFront();
  if (range != cursor_.range()) return nullptr;  // another epoch has begun meanwhile
  if (out_of_memory_) throw OutOfMemory();
  if (stopping_) {
    throw Error(ErrorCode::kState, "the Loader this epoch belongs to is gone; keep it alive");
  }
  if (!FrontIsDone()) {
    throw Error(ErrorCode::kState, "all " + std::to_string(slots_.size()) +
                                       " slots are held by the consumer; drop a batch before "
                                       "asking for another, or raise LoaderOptions::ring.hold");
  }
  return Deliver(handle);
}

bool BatchRing::WaitsForItself() const {
  // Assumes that the thread which passed a stream is the one that captures it. (If another thread
  // captures it, that capture can end without this thread.)
  return planned_.empty() && captured_ && captured_->by == std::this_thread::get_id();
}

bool BatchRing::FrontIsToCome(std::uint64_t range) const {
  return !stopping_ && !out_of_memory_ && range == cursor_.range() && !FrontIsDone() &&
         held_ < slots_.size() && !WaitsForItself();
}

bool BatchRing::WaitFor(std::uint64_t range, std::chrono::milliseconds most) {
  const auto until = Clock::now() + most;
  const MutexLock lock(mutex_);
  WaitTimer timer(measures_.consumer_waits);
  while (repeated_ == nullptr && !cursor_.RangeIsOver() && FrontIsToCome(range) &&
         !ConsumerHasRows()) {
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
                  "transform take that long; step again to go on waiting");
}

// Waits until the front is done, or will not be: the ring is stopped, the consumer holds all slots,
// or another epoch has begun.
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
    const TrainerStream stream = *captured_;
    captured_.reset();  // the planner sets it again while the capture lasts
    const MutexUnlock unlocked(mutex_);
    if (device_->IsCapturing(stream)) {
      throw Error(ErrorCode::kState,
                  "no free slot: a batch dropped during CUDA graph capture is held until capture "
                  "ends. End the capture first, or raise LoaderOptions::ring.prefetch by the "
                  "number of batches you ask for during it");
    }
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
                     "kSkip left all of them out; see Loader::Faults(), and run `sluice verify`"));
  }
  cursor_.HandOver();
  ++held_;
  const auto ready = std::count_if(planned_.begin(), planned_.end(),
                                   [](const Slot* s) { return s->done == s->rows; });
  measures_.CountBatch(slot.size, 1 + static_cast<std::uint64_t>(ready));
  if (measures_.TuneNowAndThen()) NotifyTuned();
  handle->Take(slot);
  std::shared_ptr<const Slot> batch(handle, &slot);
  if (options_.diagnostics.repeat_first_batch) repeated_ = batch;
  return batch;
}

void BatchRing::Fail(Slot& slot, const Error& error) {
  free_.push_back(&slot);
  to_plan_.NotifyOne();
  throw error;
}

bool BatchRing::EndsEmptyEpoch(const Slot& slot) {
  if (slot.index == 0) empty_batches_ = 0;
  empty_batches_ = slot.size == 0 ? empty_batches_ + 1 : 0;
  return empty_batches_ > 0 && empty_batches_ == cursor_.BatchesOf(slot.epoch);
}

std::shared_ptr<const Slot> BatchRing::Repeat() {
  cursor_.Advance();
  cursor_.HandOver();
  measures_.CountBatch(repeated_->size, measures_.tuning().prefetch);
  return repeated_;
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

}  // namespace sluice
