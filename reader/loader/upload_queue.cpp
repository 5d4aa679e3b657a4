// The order of uploads is decided in NextToBegin() alone: it looks for the first batch in the order
// of delivery that is not on its way, and gives up if that batch has rows missing, even if later
// ones are whole. Begin() and EndFirst() release the mutex around every wait for the device, and
// take what they need out of the slot before (`uploading`, `to_upload`), so that a thread that
// comes in meanwhile finds the slot already claimed. An upload that failed still goes through
// EndFirst(): its rows must count as done, or the trainer would wait for the batch forever.
#include "reader/loader/upload_queue.h"

#include <new>
#include <utility>

#include "format/disk/system_error.h"

namespace sluice {

UploadQueue::UploadQueue(LoaderDevice& device, const std::deque<Slot*>& planned,
                         LoaderMeasures& measures, bool in_threads, UploadEnded upload_ended)
    : device_(device),
      planned_(planned),
      measures_(measures),
      in_threads_(in_threads),
      upload_ended_(std::move(upload_ended)) {
  begun_.reserve(device.lanes());
}

// A thread that is in UploadInOrder() looks at all slots again before it leaves, so one uploader is
// enough, and a second thread returns to decoding at once.
void UploadQueue::Add(Slot& slot, std::size_t rows, SlotFiller& filler, Mutex& mutex) {
  slot.to_upload = rows;
  if (in_threads_) {
    to_begin_.NotifyOne();
  } else if (!uploading_) {
    UploadInOrder(filler, mutex);
  }
}

void UploadQueue::BeginUntilStopped(Mutex& mutex) {
  while (!stopped_) {
    if (Slot* const next = NextToBegin()) {
      Begin(*next, mutex);
      to_end_.NotifyOne();
    } else {
      to_begin_.Wait(mutex);
    }
  }
}

void UploadQueue::EndUntilStopped(SlotFiller& filler, Mutex& mutex) {
  while (!stopped_) {
    if (begun_.empty()) {
      to_end_.Wait(mutex);
    } else {
      EndFirst(filler, mutex);
      to_begin_.NotifyOne();  // there is room for another upload
    }
  }
}

void UploadQueue::Stop() {
  stopped_ = true;
  to_begin_.NotifyAll();
  to_end_.NotifyAll();
}

bool UploadQueue::Reclaim(Slot& slot, const std::atomic<bool>& give_up, Condition& captured,
                          Mutex& mutex) {
  const Clock::time_point begun = Clock::now();
  std::optional<double> copied;
  try {
    const MutexUnlock unlocked(mutex);
    const LoaderDeviceRange range(&device_, "Sluice: wait for a slot's last copy");
    copied = slot.device->Reclaim(give_up, [&](const TrainerStream& stream) {
      const MutexLock lock(mutex);
      // While `captured_` is set, WaitsForCaller() tells the trainer's thread that it waits for
      // itself.
      captured_ = stream;
      captured.NotifyAll();
    });
  } catch (...) {
    captured_.reset();
    throw;
  }
  captured_.reset();
  measures_.counters.upload_wait_seconds += SecondsBetween(begun, Clock::now());
  measures_.counters.upload_seconds += copied.value_or(0);
  return copied.has_value();
}

void UploadQueue::RequireNoCapture(Mutex& mutex) {
  const TrainerStream stream = *captured_;
  captured_.reset();  // Reclaim() sets it again while the capture lasts
  const MutexUnlock unlocked(mutex);
  if (device_.IsCapturing(stream)) {
    throw Error(ErrorCode::kState,
                "no free slot: a batch dropped during CUDA graph capture is held until capture "
                "ends. End the capture first, or raise LoaderOptions::ring.prefetch by the "
                "number of batches you ask for during it");
  }
}

Slot* UploadQueue::NextToBegin() const {
  if (begun_.size() == device_.lanes()) return nullptr;
  for (Slot* const slot : planned_) {
    if (slot->done == slot->rows || slot->uploading > 0) continue;  // on the device, or on its way
    return slot->to_upload > 0 ? slot : nullptr;
  }
  return nullptr;
}

// If the device decodes a batch, this thread waits for the device, but first begins the uploads of
// later batches that are ready.
void UploadQueue::UploadInOrder(SlotFiller& filler, Mutex& mutex) {
  uploading_ = true;
  for (;;) {
    if (Slot* const next = NextToBegin()) {
      Begin(*next, mutex);
      if (begun_.front()->device->decodes) continue;
    }
    if (begun_.empty()) break;
    EndFirst(filler, mutex);
  }
  uploading_ = false;
}

void UploadQueue::Begin(Slot& slot, Mutex& mutex) {
  slot.uploading = std::exchange(slot.to_upload, 0);
  slot.device->decodes = false;
  if (!slot.error && !stopped_) {
    std::optional<Error> error;
    {
      WaitTimer timer(measures_.worker_waits);
      if (!in_threads_) timer.Begin();
      const MutexUnlock unlocked(mutex);
      device_.AwaitTrainer(slot);
    }
    {
      const MutexUnlock unlocked(mutex);
      error = device_.Upload(slot);
    }
    if (error) slot.error = std::move(error);
  }
  begun_.push_back(&slot);
}

void UploadQueue::EndFirst(SlotFiller& filler, Mutex& mutex) {
  // The first one begun is the first in the order of delivery. Batches after it may be decoded
  // sooner, but nobody can use them before this one.
  Slot& slot = *begun_.front();
  if (slot.device->decodes && !slot.error && !stopped_) {
    std::optional<Error> error;
    try {
      error = AwaitDecoding(slot, filler, mutex);
    } catch (const std::bad_alloc&) {
      error = OutOfMemory();
    }
    if (error) slot.error = std::move(error);
  }
  begun_.erase(begun_.begin());
  upload_ended_(slot, std::exchange(slot.uploading, 0));
}

std::optional<Error> UploadQueue::AwaitDecoding(Slot& slot, SlotFiller& filler, Mutex& mutex) {
  std::optional<Error> error;
  std::vector<std::size_t> refused;
  {
    WaitTimer timer(measures_.worker_waits);
    if (!in_threads_) timer.Begin();
    const MutexUnlock unlocked(mutex);
    error = device_.AwaitDecoding(slot, refused);
  }
  if (error) return error;
  // If the device decodes several batches at once, each gets only a part of its time.
  const double at_once = in_threads_ ? double(device_.lanes()) : 1;
  measures_.counters.device_decode_seconds += slot.device->decode_seconds / at_once;
  const MutexUnlock unlocked(mutex);
  error = filler.CloseDecoded(slot, refused);
  return error ? error : device_.FinishUpload(slot, refused);
}

}  // namespace sluice
