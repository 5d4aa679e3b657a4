// The uploads of the ring's batches to a device. A batch whose rows are made counts as done only
// once it is on the device:
//
//   last rows made          waits                  on its way             rows done
//   Add() ----------------> Slot::to_upload -----> Slot::uploading -----> UploadEnded
//                                                  and in begun_
//
// Uploads begin in the order of delivery, although batches are finished in any order: a batch's
// copy may have to wait until the trainer no longer uses its slot's device memory, and the copies
// of earlier batches would wait behind it if it came before them on the copy stream. At most
// LoaderDevice::lanes() uploads have begun and not ended.
//
// If a device decodes, the thread that uploads has to wait for it, which no decoder thread should:
// then two threads do nothing else, one that begins uploads and one that ends them. Otherwise, a
// decoder thread that makes a batch's last rows uploads this batch, and those that become ready
// meanwhile.
//
// The queue has no lock: the ring's mutex guards it and the progress of slots. A function that
// takes this mutex releases it while it waits for the device. Another range may begin meanwhile, so
// the state must be looked at again.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "format/mutex.h"
#include "reader/batch/slot.h"
#include "reader/decoding/slot_filler.h"
#include "reader/loader/loader_measures.h"

namespace sluice {

class UploadQueue {
 public:
  // Called with the mutex held: a batch's upload has ended, so that these rows of it are done.
  using UploadEnded = std::function<void(Slot&, std::size_t rows)>;
  // `planned`: the ring's batches in the order of delivery. `in_threads`: two threads call
  // BeginUntilStopped() and EndUntilStopped(). All must outlive the queue.
  UploadQueue(LoaderDevice& device, const std::deque<Slot*>& planned, LoaderMeasures& measures,
              bool in_threads, UploadEnded upload_ended);

  // The slot's last `rows` rows are made. Without threads for it, uploads the batch, unless another
  // thread is uploading and will find it. `filler` is the calling thread's own: it decodes the
  // pictures that the device could not decode.
  void Add(Slot& slot, std::size_t rows, SlotFiller& filler, Mutex& mutex) REQUIRES(mutex);
  // Begins uploads until Stop(). It does not wait for the device, so that a batch is on its way
  // there as soon as its rows are done.
  void BeginUntilStopped(Mutex& mutex) REQUIRES(mutex);
  // Waits for the device to decode the batches whose uploads have begun, and ends these uploads,
  // until Stop(). `filler` is the thread's own.
  void EndUntilStopped(SlotFiller& filler, Mutex& mutex) REQUIRES(mutex);
  void Stop();

  // Waits until the copy of the slot's last batch has ended, so that its host memory may be
  // written, and counts the time. Returns false if `give_up` was set first. While the trainer must
  // end a stream's capture before the copy can end, notifies `captured` again and again. Throws the
  // device's Error.
  bool Reclaim(Slot& slot, const std::atomic<bool>& give_up, Condition& captured, Mutex& mutex)
      REQUIRES(mutex);
  // Whether Reclaim() waits until the calling thread ends its own capture. Assumes that the thread
  // which passed a stream is the one that captures it. (If another thread captures it, that capture
  // can end without this thread.)
  bool WaitsForCaller() const { return captured_ && captured_->by == std::this_thread::get_id(); }
  // Call it if WaitsForCaller(). Throws Error if that capture has not ended meanwhile.
  void RequireNoCapture(Mutex& mutex) REQUIRES(mutex);

 private:
  // Null if no batch is ready, or if as many uploads are under way as the device allows.
  Slot* NextToBegin() const;
  void UploadInOrder(SlotFiller& filler, Mutex& mutex) REQUIRES(mutex);
  void Begin(Slot& slot, Mutex& mutex) REQUIRES(mutex);
  void EndFirst(SlotFiller& filler, Mutex& mutex) REQUIRES(mutex);
  // Waits until the device has decoded the slot's pictures, has the filler decode those that the
  // device refused, and finishes the upload.
  std::optional<Error> AwaitDecoding(Slot& slot, SlotFiller& filler, Mutex& mutex) REQUIRES(mutex);

  LoaderDevice& device_;
  const std::deque<Slot*>& planned_;
  LoaderMeasures& measures_;
  const bool in_threads_;
  const UploadEnded upload_ended_;
  Condition to_begin_;  // wakes the thread that begins uploads: a batch's rows are done
  Condition to_end_;    // wakes the thread that ends uploads: one has begun
  bool stopped_ = false;
  bool uploading_ = false;    // a thread is in UploadInOrder()
  std::vector<Slot*> begun_;  // and not ended, in order of delivery
  // The trainer's device stream whose capture Reclaim() is waiting for.
  std::optional<TrainerStream> captured_;
};

}  // namespace sluice
