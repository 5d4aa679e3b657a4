// A batch's place on a device: its memory there, and the events that say who may touch it.
//
// The copy waits for what the trainer's streams were given before they let go of the batch that was
// there before; the trainer's streams wait for the copy; and the planning thread waits until the
// copy has read the slot's host memory, before that is written again. Nobody else waits.
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
  // A stream of the trainer's, and the thread that gave it to WaitOn(). The handle of CUDA's stream
  // of each thread means another stream on another thread.
  struct Named {
    DeviceDriver::Stream stream = nullptr;
    std::thread::id by;
  };
  using OnCapture = std::function<void(const Named&)>;

  // `converts`: what is copied is not yet the batch.
  DeviceSlot(const Device& device, DeviceDriver& driver, std::size_t bytes, bool converts);

  const Device& device() const noexcept { return device_; }
  // Where what lies in a slot's host memory at that offset, behind its images, is here.
  const std::byte* At(std::size_t offset) const noexcept {
    return memory.data() + (offset - shift);
  }

  // The consumer's: see Batch. Release(): the last handle is gone.
  void WaitOn(DeviceDriver::Stream stream);
  void Synchronize();
  void Release() noexcept;

  // The planner's: waits until the host memory may be written. Returns how long the copy that was
  // the last to read it took, in seconds; nothing where `give_up` was set meanwhile. `on_capture`
  // is called, again and again, while a stream's capture must end first.
  std::optional<double> Reclaim(const std::atomic<bool>& give_up, const OnCapture& on_capture = {});

  // Waits until nobody works on the memory: before it is freed, when all streams of the loader's
  // are gone.
  void Finish() noexcept;

  DeviceBuffer memory;
  std::size_t shift = 0;           // of At()
  std::vector<ImageBatch> images;  // the first, then the slot's further ones

  // The uploader's. Makes the stream wait for those who had the memory before.
  void WaitForTrainer(DeviceDriver::Stream stream);
  OwnEvent copy_begins, copied, converted;
  bool under_way = false;  // a copy has been given to a stream since the last Reclaim()

 private:
  DeviceDriver::Event ready() const noexcept { return converts_ ? converted.get() : copied.get(); }
  bool RecordLate(const std::atomic<bool>& give_up, const OnCapture& on_capture) REQUIRES(mutex_);
  // What the calling thread names that stream by.
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
