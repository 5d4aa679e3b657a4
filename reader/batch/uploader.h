// Uploads finished batches to a device. It copies on one stream and converts on another, so that a
// copy overlaps with the conversion of the batch before. It allocates all its memory in its
// constructor.
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
  // `shipped`: the layout of a slot on the host. `programs`: those of its views. If a program
  // leaves steps to the device, they are done there, and the result is laid out as `layout`. Throws
  // Error.
  Uploader(const Device& device, std::shared_ptr<DeviceDriver> driver, const SlotLayout& shipped,
           std::span<const PixelProgram* const> programs, Layout layout);

  std::unique_ptr<DeviceSlot> NewSlot();

  // Starts the upload of the slot's batch, and does not wait for it. Any thread. Returns why the
  // batch fails, if it does.
  std::optional<Error> Upload(Slot& slot);

  // Waits for the uploads that were started. No upload may follow.
  void Finish() noexcept;

  std::size_t slot_bytes() const noexcept { return rest_there_ + shipped_.bytes - rest_; }
  std::size_t device_bytes() const noexcept;  // besides slots
  std::uint64_t uploaded_bytes() const;

 private:
  // An image of the batch: the first, a view of it, or another field.
  struct Picture {
    std::size_t from = 0;  // in a slot's host memory
    std::size_t to = 0;    // in its DeviceSlot
    ImageBatch delivered;  // of a full batch of the largest size
    // True: the device converts it. False: it is copied straight to its DeviceSlot.
    bool converts = false;
    DeviceNeed need;
    std::size_t staged = 0;  // in staging
    std::size_t table = 0;   // in table_
    SlotLayout::DeviceOps ops;
  };
  // Holds pixels between their copy and their conversion. Two take turns.
  struct Staging {
    DeviceBuffer memory;
    OwnEvent read;  // the conversion has read it
  };
  // `row_bytes`: of the slot on the host.
  void AddPicture(const ImageBatch& shipped, std::size_t row_bytes, std::size_t from,
                  const SlotLayout::DeviceOps& ops, const PixelProgram* program, Layout layout);
  void CopyTables(std::span<const PixelProgram* const> programs);
  void Start(const Slot& slot, DeviceSlot& place) REQUIRES(mutex_);
  void StartConversions(DeviceSlot& place, Staging& staging) REQUIRES(mutex_);
  Conversion ConversionOf(const Picture& picture, const ImageBatch& image, const DeviceSlot& place,
                          const Staging& staging) const;

  const Device device_;
  const std::shared_ptr<DeviceDriver> driver_;
  const SlotLayout& shipped_;
  std::vector<Picture> pictures_;  // as DeviceSlot::images
  std::size_t rest_ = 0;           // where the data after images begins in a slot's host memory
  std::size_t rest_there_ = 0;     // and in its DeviceSlot
  std::size_t staging_bytes_ = 0;  // 0: nothing is converted
  std::size_t table_bytes_ = 0;
  std::size_t spare_bytes_ = 0;
  HostBuffer host_table_;
  DeviceBuffer table_;
  DeviceBuffer spare_;  // for one conversion at a time: their stream runs them one by one
  Staging staging_[2];
  std::size_t turn_ = 0;
  OwnStream copy_stream_;
  OwnPriorityStream convert_stream_;  // otherwise conversions queue behind the trainer's kernels

  mutable Mutex mutex_;  // guards the order of work on the streams
  std::uint64_t uploaded_bytes_ GUARDED_BY(mutex_) = 0;
};

// The image as the device delivers it, for an image as it is copied there.
ImageBatch DeliveredImage(const ImageBatch& shipped, const PixelProgram& program, Layout layout);

}  // namespace sluice
