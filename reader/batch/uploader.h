// Takes finished batches to a device: copies on one stream, conversion on another, so that a copy
// runs beside the conversion of the batch before it. All memory is taken when it is made.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "format/mutex.h"
#include "reader/batch/device_slot.h"
#include "reader/batch/slot_layout.h"
#include "reader/device/host_buffer.h"
#include "reader/transform/pixel_program.h"

namespace sluice {

struct Slot;

class Uploader {
 public:
  // `shipped`: what a slot holds on the host, and `programs` what was made of its views. Where one
  // of them leaves something to the device, it is done there, laid out as `layout` says. Throws
  // Error.
  Uploader(const Device& device, std::shared_ptr<DeviceDriver> driver, const SlotLayout& shipped,
           std::span<const PixelProgram* const> programs, Layout layout);

  std::unique_ptr<DeviceSlot> NewSlot();

  // Starts what brings the slot's batch to the device, and waits for none of it. Any thread. Says
  // why the batch fails, if it does.
  std::optional<Error> Upload(Slot& slot);

  // Waits for what was started. There can be no more after this.
  void Finish() noexcept;

  std::size_t slot_bytes() const noexcept { return rest_there_ + shipped_.bytes - rest_; }
  std::size_t device_bytes() const noexcept;  // besides slots
  std::uint64_t uploaded_bytes() const;

 private:
  // An image of the batch: the first, a view of it, or another field.
  struct Picture {
    std::size_t from = 0;  // in a slot's host memory
    std::size_t to = 0;    // in its place on the device
    ImageBatch delivered;  // of a full batch of the largest size
    // Where the device goes on; else it is copied to its place at once.
    bool converts = false;
    DeviceNeed need;
    std::size_t staged = 0;  // in staging
    std::size_t table = 0;   // in table_
    SlotLayout::DeviceOps ops;
  };
  // Where pixels lie between their copy and their conversion. Two take turns.
  struct Staging {
    DeviceBuffer memory;
    OwnEvent read;  // by the conversion
  };
  void AddPicture(const ImageBatch& shipped, std::size_t from, const SlotLayout::DeviceOps& ops,
                  const PixelProgram* program, Layout layout);
  void CopyTables(std::span<const PixelProgram* const> programs);
  void Start(const Slot& slot, DeviceSlot& place) REQUIRES(mutex_);
  void StartConversions(DeviceSlot& place, Staging& staging) REQUIRES(mutex_);
  Conversion ConversionOf(const Picture& picture, const ImageBatch& image, const DeviceSlot& place,
                          const Staging& staging) const;

  const Device device_;
  const std::shared_ptr<DeviceDriver> driver_;
  const SlotLayout& shipped_;
  std::vector<Picture> pictures_;  // as DeviceSlot::images
  std::size_t rest_ = 0;           // where what is no image begins in a slot's host memory,
  std::size_t rest_there_ = 0;     // and in its place
  std::size_t staging_bytes_ = 0;  // 0: nothing is converted
  std::size_t table_bytes_ = 0;
  std::size_t spare_bytes_ = 0;
  HostBuffer host_table_;
  DeviceBuffer table_;
  DeviceBuffer spare_;  // for one conversion at a time, which is what their stream does
  Staging staging_[2];
  std::size_t turn_ = 0;
  OwnStream copy_stream_, convert_stream_;

  mutable Mutex mutex_;  // of the order on the streams
  std::uint64_t uploaded_bytes_ GUARDED_BY(mutex_) = 0;
};

// What the device makes of an image that is shipped like that.
ImageBatch DeliveredImage(const ImageBatch& shipped, const PixelProgram& program, Layout layout);

}  // namespace sluice
