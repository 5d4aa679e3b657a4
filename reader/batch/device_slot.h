// A slot's memory on a device, and the events that say who may touch it.
//
// The copy waits for the work that the trainer's streams had before the trainer dropped the
// previous batch. The trainer's streams wait for the copy. The planner thread waits until the copy
// has read the slot's host memory before that is written again. Nothing else waits.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <sluice/batch.h>
#include <sluice/error.h>

#include "format/mutex.h"
#include "reader/device/device_driver.h"

namespace sluice {

class DeviceSlot {
 public:
  // A stream of the trainer's, and the thread that passed it to WaitOn(): the handle of CUDA's
  // per-thread default stream means a different stream on each thread.
  struct Named {
    DeviceDriver::Stream stream = nullptr;
    std::thread::id by;
  };
  using OnCapture = std::function<void(const Named&)>;

  // `converts`: what is copied still has to be decoded or converted to the batch.
  DeviceSlot(const Device& device, DeviceDriver& driver, std::size_t bytes, bool converts);

  const Device& device() const noexcept { return device_; }
  // The place here of the bytes at that offset of a slot's host memory, which must be after its
  // images.
  std::byte* At(std::size_t offset) const noexcept { return memory.data() + (offset - shift); }

  // For the consumer: see Batch. Release(): its last handle is gone.
  void WaitOn(DeviceDriver::Stream stream);
  void Synchronize();
  void Release() noexcept;

  // For the planner: waits until the host memory may be written. Returns how long the last copy
  // from it took, in seconds; nothing if `give_up` was set meanwhile. Calls `on_capture` again and
  // again while a stream's capture must end first.
  std::optional<double> Reclaim(const std::atomic<bool>& give_up, const OnCapture& on_capture = {});

  // Waits until no stream uses the memory. Call it before the memory is freed, when the loader's
  // own streams are gone.
  void Finish() noexcept;

  DeviceBuffer memory;
  std::size_t shift = 0;           // for At()
  std::vector<ImageBatch> images;  // as Slot::images, as delivered

  // For the uploader. Makes the stream wait for the trainer's streams that used the memory before.
  void WaitForTrainer(DeviceDriver::Stream stream);
  OwnTimedEvent copy_begins, copied, decoding_begins, decoded, converted;
  std::vector<OwnGraph> decoding;  // by lane: of a batch in as many waves as there are views
  bool decodes = false;            // the device decodes pictures of the batch,
  double decode_seconds = 0;       // which took so long, once that is known
  std::size_t lane = 0;            // which of the uploader's lanes the batch goes through
  bool under_way = false;          // a copy has been enqueued since the last Reclaim()

 private:
  DeviceDriver::Event ready() const noexcept { return converts_ ? converted.get() : copied.get(); }
  bool RecordLate(const std::atomic<bool>& give_up, const OnCapture& on_capture) REQUIRES(mutex_);
  // The handle by which the calling thread names that stream.
  DeviceDriver::Stream HandleOf(const Named& named) const noexcept;

  const Device device_;
  DeviceDriver& driver_;
  const bool converts_;

  Mutex mutex_;
  std::vector<Named> streams_ GUARDED_BY(mutex_);    // that wait for the batch, each once
  std::vector<OwnEvent> events_ GUARDED_BY(mutex_);  // at least as many
  std::size_t recorded_ GUARDED_BY(mutex_) = 0;      // of them, by Release()
  std::vector<Named> unrecorded_
      GUARDED_BY(mutex_);  // that were being captured when the batch was dropped
  std::optional<Error> failure_ GUARDED_BY(mutex_);  // of Release()
};

}  // namespace sluice
