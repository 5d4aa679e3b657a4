// The planner's side of BatchRing.
#include <iterator>
#include <utility>

#include "reader/loader/batch_ring.h"
#include "reader/reading/available_memory.h"

namespace sluice {

bool BatchRing::MayPlan(bool some_in_hand) {
  if (!cursor_.begun() || free_.empty() || !cursor_.HasMore()) return false;
  return !options_.diagnostics.repeat_first_batch ||
         (!some_in_hand && planned_.empty() && repeated_ == nullptr);
}

bool BatchRing::IsShort() const {
  return may_grow_ && slots_.size() < 1 + measures_.tuning().prefetch + options_.ring.hold;
}

BatchRing::Turn BatchRing::NextTurn(std::optional<std::uint64_t> in_hand, bool has_room) {
  using Task = Turn::Task;
  const MutexLock lock(mutex_);
  if (!in_hand) {
    WaitTimer timer(measures_.planner_waits);
    while (!stopping_ && !MayPlan(false) && !IsShort()) {
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
  } else if (MayPlan(in_hand.has_value()) && (!in_hand || has_room)) {
    turn.task = Task::kPlan;
    // On the host, the slot used last: it may still be in the CPU's caches. For a device, the slot
    // unused for longest: its last copy is the most likely to have ended.
    const auto next = uploads_batches_ ? free_.begin() : std::prev(free_.end());
    turn.planned = {*next, cursor_.TakeToPlan(), cursor_.stream()};
    turn.ends_epoch = cursor_.EndsEpoch(turn.planned.number);
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

void BatchRing::CountReadAhead(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  measures_.counters.read_ahead_bytes = bytes;
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
  const Clock::time_point begun = Clock::now();
  const auto on_capture = [this](const TrainerStream& stream) {
    const MutexLock lock(mutex_);
    captured_ = stream;
    ready_.NotifyAll();
  };
  const LoaderDeviceRange range(device_, "Sluice: wait for a slot's last copy");
  const std::optional<double> copied = slot.device->Reclaim(give_up_, on_capture);
  const MutexLock lock(mutex_);
  captured_.reset();
  measures_.counters.upload_wait_seconds += SecondsBetween(begun, Clock::now());
  measures_.counters.upload_seconds += copied.value_or(0);
  return copied.has_value();
}

bool BatchRing::Publish(const Planned& planned) {
  const MutexLock lock(mutex_);
  captured_.reset();
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

}  // namespace sluice
