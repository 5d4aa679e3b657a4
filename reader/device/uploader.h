// Takes finished batches to a device: copies on one stream, conversion on another, so that a copy
// runs beside the conversion of the batch before it. All memory is taken when it is made.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "reader/device/device_slot.h"
#include "reader/device/host_buffer.h"
#include "reader/pipeline/slot_layout.h"
#include "reader/transform/pixel_program.h"

namespace sluice {

struct Slot;

class Uploader {
 public:
  // `shipped`: what a slot holds on the host. Where the program leaves its numbers to the device,
  // they are made there, as `layout` says. Throws Error.
  Uploader(const Device& device, std::shared_ptr<DeviceDriver> driver, const SlotLayout& shipped,
           const PixelProgram& program, Layout layout);

  std::unique_ptr<DeviceSlot> NewSlot();

  // Starts what brings the slot's batch to the device, and waits for none of it. Any thread. Says
  // why the batch fails, if it does.
  std::optional<Error> Upload(Slot& slot);

  // Waits for what was started. There can be no more after this.
  void Finish() noexcept;

  std::size_t slot_bytes() const noexcept { return image_bytes_ + shipped_.bytes - rest_; }
  std::size_t device_bytes() const noexcept;  // besides slots
  std::uint64_t uploaded_bytes() const;

 private:
  // Where pixels lie between their copy and their conversion. Two take turns.
  struct Staging {
    DeviceBuffer memory;
    OwnEvent read;  // by the conversion
  };
  void Start(const Slot& slot, DeviceSlot& place);
  void StartConversion(const Slot& slot, DeviceSlot& place, Staging& staging);

  const Device device_;
  const std::shared_ptr<DeviceDriver> driver_;
  const SlotLayout& shipped_;
  ImageBatch delivered_;         // the image of a full batch
  std::size_t image_bytes_ = 0;  // of it on the device, whole pages
  std::size_t rest_ = 0;         // where what is not the image begins in a slot's host memory
  HostBuffer host_table_;
  DeviceBuffer table_;  // none: nothing is converted
  Staging staging_[2];
  std::size_t turn_ = 0;
  OwnStream copy_stream_, convert_stream_;

  mutable std::mutex mutex_;  // of the order on the streams
  std::uint64_t uploaded_bytes_ = 0;
};

}  // namespace sluice
