// Uploads finished batches to a device. It copies on one stream, decodes on one stream for each
// lane, and converts on one more, so that these kinds of work overlap for different batches. It
// allocates all its memory in its constructor, and a slot's in NewSlot().
//
// A batch goes through a lane, and batches take the lanes in turn. The lane has what a batch needs
// of the device while it is decoded and converted: a stream to decode on, scratch memory for that,
// and memory for pixels that are still to be converted. A batch of JPEGs has too few lines to keep
// a device busy, and takes as long as its longest line, so several are decoded at once:
//
//     copies       | 0 | 1 | 2 | 3 |            | 4 |     | 5 | ...
//     lane 0           |    decode 0    |           |    decode 4    |
//     lane 1               |    decode 1    |             |    decode 5    |
//     lane 2                   |    decode 2    |
//     lane 3                       |    decode 3    |
//     conversions                       |0| |1| |2| |3| ...
//
// A slot's batch may go through any lane. A graph names the scratch memory that it uses, so a slot
// has one graph for each lane.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "format/mutex.h"
#include "reader/batch/slot_layout.h"
#include "reader/transform/pixel_program.h"
#include "reader/upload/device_slot.h"

namespace sluice {

// Page-locked host memory for slots whose batches stay there (LoaderOptions::ring.pinned).
class PinnedSlots : public LoaderDevice {
 public:
  explicit PinnedSlots(std::shared_ptr<DeviceDriver> driver) : driver_(std::move(driver)) {}
  HostBuffer NewMemory(std::size_t bytes) override { return PinnedBuffer(driver_, bytes); }
  bool IsCapturing(const TrainerStream& stream) override;
  void BeginRange(const char* name) noexcept override { driver_->BeginRange(name); }
  void EndRange() noexcept override { driver_->EndRange(); }

 protected:
  const std::shared_ptr<DeviceDriver> driver_;
};

class Uploader final : public PinnedSlots {
 public:
  // `shipped` is the layout of a slot on the host, with its part for the device. `programs` are
  // those of its views. If a program leaves steps to the device, the device runs them, and lays out
  // the result as `layout`. Throws Error.
  struct Work {
    const SlotLayout& shipped;
    const DeviceLayout& device_part;
    std::vector<const PixelProgram*> programs;
    Layout layout = Layout::kNHWC;
  };
  Uploader(const Device& device, std::shared_ptr<DeviceDriver> driver, const Work& work);

  // See LoaderDevice.
  std::unique_ptr<DeviceBatch> NewBatch(const Slot& slot) override { return NewSlot(slot); }
  std::unique_ptr<DeviceSlot> NewSlot(const Slot& slot);
  std::size_t lanes() const noexcept override { return lanes_.size(); }
  void AwaitTrainer(const Slot& slot) noexcept override;
  std::optional<Error> Upload(Slot& slot) override;
  std::optional<Error> AwaitDecoding(Slot& slot, std::vector<std::size_t>& refused) override;
  std::optional<Error> FinishUpload(Slot& slot, std::span<const std::size_t> redone) override;
  void Finish() noexcept override;

  std::size_t slot_bytes() const noexcept { return rest_there_ + shipped_.bytes - rest_; }
  std::size_t device_bytes() const noexcept;  // without the slots' bytes
  std::uint64_t uploaded_bytes() const;
  std::uint64_t decoded_pictures() const;  // by the device

 private:
  struct Picture {
    std::size_t from = 0;  // where the images begin in a slot's host memory
    std::size_t to = 0;    // where they begin in its DeviceSlot
    ImageBatch delivered;  // as the device delivers them, for a full batch of the largest size
    // If true, the device converts the image; if false, the image is copied straight to its
    // DeviceSlot.
    bool converts = false;
    DeviceNeed need;         // the needs of the view's operations
    std::size_t staged = 0;  // where the images begin in a lane's `staging`
    std::size_t table = 0;   // where the numbers for its values begin in table_
  };
  struct Lane {
    DeviceBuffer staging;        // pixels between their copy or decoding and their conversion
    OwnEvent read;               // the conversion has read the pixels in `staging`
    DeviceBuffer scratch;        // for one wave at a time: `decoding` runs waves one by one
    OwnPriorityStream decoding;  // without priority, it would wait for the trainer's kernels
  };
  // `program`: null for an image that is not a view of the picture.
  void AddPicture(const SlotLayout::ImageField& field, const PixelProgram* program, Layout layout);
  void CopyTables(const std::vector<const PixelProgram*>& programs);
  // Whether the device does more than copy.
  bool works() const noexcept { return staging_bytes_ > 0 || room_; }
  Error Failed(const Slot& slot, const Error& error);
  void Start(Slot& slot, DeviceSlot& place) REQUIRES(mutex_);
  void Copy(std::byte* to, const Slot& slot, std::size_t from, std::size_t count) REQUIRES(mutex_);
  void CopyImages(const Slot& slot, const DeviceSlot& place, std::size_t picture) REQUIRES(mutex_);
  void CopyRows(const Slot& slot, const DeviceSlot& place, std::size_t picture, std::size_t begin,
                std::size_t end) REQUIRES(mutex_);
  std::byte* ImagesOf(const DeviceSlot& place, const Picture& picture) const noexcept;
  void PlanDecoding(const Slot& slot, const DeviceSlot& place) REQUIRES(mutex_);
  void SortLines(const DeviceSlot& place, const JpegWave& wave) REQUIRES(mutex_);
  void StartDecoding(const Slot& slot, DeviceSlot& place) REQUIRES(mutex_);
  JpegJob JobOf(const DeviceSlot& place, const Lane& lane) const;  // for the batch's first wave
  void Decode(DeviceDriver::Stream stream, const Slot& slot, const DeviceSlot& place,
              const Lane& lane, std::size_t waves) const;
  void StartConversions(DeviceSlot& place) REQUIRES(mutex_);
  Conversion ConversionOf(std::size_t picture, const DeviceSlot& place) const;

  static DeviceSlot& PlaceOf(const Slot& slot) noexcept {  // NewSlot() made it
    return static_cast<DeviceSlot&>(*slot.device);
  }

  const Device device_;
  const SlotLayout& shipped_;
  const DeviceLayout& device_part_;
  const PictureRoom& room_;
  std::vector<Picture> pictures_;  // one for each of SlotLayout::images
  std::size_t rest_ = 0;           // where the data after images begins in a slot's host memory
  std::size_t rest_there_ = 0;     // where that data begins in its DeviceSlot
  std::size_t staging_bytes_ = 0;  // of a lane; 0: nothing is converted
  std::size_t table_bytes_ = 0;
  std::size_t jpeg_table_ = 0;  // where the JpegTables begin in table_
  std::size_t spare_bytes_ = 0;
  HostBuffer host_table_;
  DeviceBuffer table_;
  DeviceBuffer spare_;  // for one conversion at a time: convert_stream_ runs them one by one
  std::vector<Lane> lanes_;
  OwnStream copy_stream_;
  OwnPriorityStream convert_stream_;

  mutable Mutex mutex_;                      // guards the order of work on the streams
  std::size_t turn_ GUARDED_BY(mutex_) = 0;  // the lane of the next upload
  std::uint64_t uploaded_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t decoded_pictures_ GUARDED_BY(mutex_) = 0;
  // Of the upload that is being started: the number of its waves and of its lines, and the lines as
  // they were put into the slot.
  std::size_t waves_ GUARDED_BY(mutex_) = 0;
  std::size_t line_count_ GUARDED_BY(mutex_) = 0;
  std::vector<CodedLine> lines_ GUARDED_BY(mutex_);
};

// The image that the device delivers for an image that is copied to it as `shipped`.
ImageBatch DeliveredImage(const ImageBatch& shipped, const PixelProgram& program, Layout layout);

}  // namespace sluice
