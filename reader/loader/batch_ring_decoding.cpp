// The decoder threads' side of BatchRing.
#include <algorithm>
#include <new>
#include <utility>

#include "format/disk/system_error.h"
#include "reader/loader/batch_ring.h"

namespace sluice {

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

// The first with rows to take; on a machine of several nodes, once somebody works on that, the
// first on that node among the next few: so each batch is made by one node, several at a time.
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
  const bool one_each = planned_.size() - handing_out_ >= measures_.tuning().threads;
  const std::size_t most = setup_.whole_batches && one_each ? slot.rows : RowsAtOnce();
  const Rows rows{&slot, slot.handed_out, std::min(slot.handed_out + most, slot.rows)};
  slot.handed_out = rows.end;
  ++slot.in_hand;
  while (handing_out_ < planned_.size() &&
         planned_[handing_out_]->handed_out == planned_[handing_out_]->rows) {
    ++handing_out_;
  }
  if (HasRows()) to_work_.NotifyOne();  // for another thread
  return rows;
}

// Rows that take long, in a user's function say, are taken few at a time, or else a few threads
// would have all rows of the ring and the others none.
std::size_t BatchRing::RowsAtOnce() const {
  constexpr double kRunSeconds = 300e-6;
  if (row_seconds_ * double(setup_.rows_at_once) <= kRunSeconds) return setup_.rows_at_once;
  return std::max<std::size_t>(1, static_cast<std::size_t>(kRunSeconds / row_seconds_));
}

bool BatchRing::FinishRows(const Rows& rows, RowWorker::Outcome outcome, const LoaderStats& spent,
                           RowWorker& worker) {
  Slot& slot = *rows.slot;
  const MutexLock lock(mutex_);
  measures_.counters += spent;
  measures_.costs += outcome.costs;
  slot.left_out += outcome.left_out;
  if (outcome.error && (!slot.error || outcome.failed_row < slot.error_row)) {
    slot.error = std::move(outcome.error);
    slot.error_row = outcome.failed_row;
  }
  const std::size_t count = rows.end - rows.begin;
  row_seconds_ += 0.1 * (spent.decode_seconds / double(count) - row_seconds_);
  if (slot.done + count == slot.rows && !slot.error &&
      !slot.abandoned.load(std::memory_order_relaxed) &&
      (slot.left_out > 0 || setup_.recipe.closes_batches)) {
    return true;
  }
  Complete(slot, count, worker);
  return false;
}

void BatchRing::Closed(const Rows& rows, std::optional<Error> error, RowWorker& worker) {
  const MutexLock lock(mutex_);
  if (error) rows.slot->error = std::move(error);
  Complete(*rows.slot, rows.end - rows.begin, worker);
}

void BatchRing::Complete(Slot& slot, std::size_t rows, RowWorker& worker) {
  if (uploads_batches_ && slot.done + rows == slot.rows &&
      !slot.abandoned.load(std::memory_order_relaxed)) {
    slot.to_upload = rows;
    if (uploads_elsewhere_) {
      to_upload_.NotifyOne();
    } else {
      UploadInOrder(worker);
    }
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

Slot* BatchRing::NextToUpload() const {
  if (uploads_.size() == device_->lanes()) return nullptr;
  for (Slot* const slot : planned_) {
    if (slot->done == slot->rows || slot->uploading > 0) continue;  // on the device, or on its way
    return slot->to_upload > 0 ? slot : nullptr;
  }
  return nullptr;
}

void BatchRing::UploadInOrder(RowWorker& worker) {
  if (uploading_) return;  // the thread that uploads will find the slot
  uploading_ = true;
  for (;;) {
    if (Slot* const next = NextToUpload()) {
      BeginUpload(*next);
      if (uploads_.front()->device->decodes) continue;
    }
    if (uploads_.empty()) break;
    EndUpload(worker);
  }
  uploading_ = false;
}

void BatchRing::BeginUploadsUntilStopped() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    if (Slot* const next = NextToUpload()) {
      BeginUpload(*next);
      to_end_.NotifyOne();
    } else {
      to_upload_.Wait(mutex_);
    }
  }
}

void BatchRing::EndUploadsUntilStopped(RowWorker& worker) {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    if (uploads_.empty()) {
      to_end_.Wait(mutex_);
    } else {
      EndUpload(worker);
      to_upload_.NotifyOne();  // there is room for another
    }
  }
}

void BatchRing::BeginUpload(Slot& slot) {
  slot.uploading = std::exchange(slot.to_upload, 0);
  slot.device->decodes = false;
  if (!slot.error && !stopping_) {
    std::optional<Error> error;
    {
      const MutexUnlock unlocked(mutex_);
      error = device_->Upload(slot);
    }
    if (error) slot.error = std::move(error);
  }
  uploads_.push_back(&slot);
}

void BatchRing::EndUpload(RowWorker& worker) {
  Slot& slot = *uploads_.front();
  if (slot.device->decodes && !slot.error && !stopping_) {
    std::optional<Error> error;
    try {
      std::vector<std::size_t> refused;
      {
        WaitTimer timer(measures_.worker_waits);
        if (!uploads_elsewhere_) timer.Begin();
        const MutexUnlock unlocked(mutex_);
        error = device_->AwaitDecoding(slot, refused);
      }
      // While so many are decoded at once, the device gives each a part of its time.
      const double at_once = uploads_elsewhere_ ? double(device_->lanes()) : 1;
      if (!error) measures_.counters.device_decode_seconds += slot.device->decode_seconds / at_once;
      const MutexUnlock unlocked(mutex_);
      if (!error) error = worker.CloseDecoded(slot, refused);
      if (!error) error = device_->FinishUpload(slot, refused);
    } catch (const std::bad_alloc&) {
      error = OutOfMemory();
    }
    if (error) slot.error = std::move(error);
  }
  uploads_.erase(uploads_.begin());
  CountDone(slot, std::exchange(slot.uploading, 0));
}

}  // namespace sluice
