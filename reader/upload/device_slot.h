// A slot's memory on a device, the events that order who may touch it, and the slot's part for the
// device in host memory (DeviceLayout).
//
// The copy waits for the work that the trainer's streams had when the trainer dropped the previous
// batch. The trainer's streams wait for the copy. Before the slot's host memory is written again,
// the planner thread waits until the copy has read it. Nothing else has to wait.
//
// Before the copy is started, a thread of the host has waited for the trainer's work, too
// (AwaitTrainer()), so that the copy's stream rarely waits on the device: while a stream waited
// there for an event, each kernel of the trainer began about a microsecond later (on an H100;
// 0.44 ms in a step of 350 kernels).
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "format/mutex.h"
#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/device/device_driver.h"
#include "reader/device/jpeg_parcel.h"
#include "reader/upload/device_layout.h"
#include "reader/upload/device_picture_cache.h"

namespace sluice {

class DeviceSlot final : public DeviceBatch {
 public:
  // Makes the device's part of `slot`; the slot owns that part. `converts`: whether the device
  // still has to decode or convert what is copied to it.
  DeviceSlot(const Device& device, DeviceDriver& driver, const Slot& slot,
             const DeviceLayout& layout, std::size_t bytes, bool converts);

  std::byte* At(std::size_t offset) const noexcept override {
    return memory.data() + (offset - shift);
  }
  void WaitOn(DeviceDriver::Stream stream) override;
  void Synchronize() override;
  void Release() noexcept override;
  std::optional<double> Reclaim(const std::atomic<bool>& give_up,
                                const OnCapture& on_capture = {}) override;
  void Finish() noexcept override;

  bool HasPicture(std::size_t row) const override;
  bool HasPictures() const override;
  void TakeBack(std::size_t row) override;
  void TakeBackAll() override;
  void MoveRow(std::size_t from, std::size_t to) override;

  // Leaves the view of the row to the device. Returns false if there is no more room; the host must
  // decode the view then. Threads may put pictures of different rows at the same time. Until the
  // batch is uploaded, JpegPicture::scratch says how much the picture needs, not where it begins.
  bool Put(std::size_t view, std::size_t row, const JpegParcel& parcel);
  // Places in the slot's host memory, for a view of a row or for the whole batch. All but OpsOf()
  // need a layout with room for pictures.
  JpegPicture& PictureOf(std::size_t view, std::size_t row) const;
  std::uint32_t& BrokenOf(std::size_t view, std::size_t row) const;
  CodedLine* PictureLines() const;
  JpegWave* Waves() const;
  PixelOp* OpsOf(std::size_t view, std::size_t row) const;
  // How much of the room's budgets has been taken.
  std::size_t lines_put() const noexcept { return lines_put_.load(std::memory_order_relaxed); }
  std::size_t words_put() const noexcept { return words_put_.load(std::memory_order_relaxed); }

  DeviceBuffer memory;
  // For a byte after the images: its offset in the slot's host memory, minus that in `memory`.
  std::size_t shift = 0;

  // For the uploader. WaitForTrainer() makes `stream` wait for the trainer's streams that used the
  // memory before. AwaitTrainer() makes the calling thread wait for the same work, but not once
  // `give_up` is set, and for 250 ms at most: the trainer may have blocked its stream until it has
  // more batches than there are slots.
  void AwaitTrainer(const std::atomic<bool>& give_up) noexcept;
  void WaitForTrainer(DeviceDriver::Stream stream);
  OwnTimedEvent copy_begins, copied, decoding_begins, decoded, converted;
  std::vector<OwnGraph> decoding;  // by lane: decodes a batch in as many waves as there are views
  std::size_t lane = 0;            // the number of the uploader's lane that the batch goes through
  bool under_way = false;          // a copy has been enqueued since the last Reclaim()

 private:
  DeviceDriver::Event ready() const noexcept { return converts_ ? converted.get() : copied.get(); }
  // Waits until no stream of unrecorded_ is being captured, and records their events. Returns false
  // if `give_up` is set before that.
  bool RecordLate(const std::atomic<bool>& give_up, const OnCapture& on_capture) REQUIRES(mutex_);
  // The handle by which the calling thread names that stream.
  DeviceDriver::Stream HandleOf(const TrainerStream& named) const noexcept;

  template <class Value>
  Value* InSlot(std::size_t offset) const {
    return reinterpret_cast<Value*>(slot_.memory.data() + offset);
  }
  std::size_t NumberOf(std::size_t view, std::size_t row) const noexcept {
    return view * layout_.room.images + row;
  }

  DeviceDriver& driver_;
  const Slot& slot_;
  const DeviceLayout& layout_;
  const bool converts_;

  std::atomic<std::uint32_t> lines_put_ = 0, words_put_ = 0;
  std::atomic<bool> any_put_ = false;  // whether Put() has put a picture

  Mutex mutex_;
  std::vector<TrainerStream> streams_
      GUARDED_BY(mutex_);  // the streams that wait for the batch, each once
  std::vector<OwnEvent> events_ GUARDED_BY(mutex_);  // one for each of streams_, or more
  std::size_t recorded_ GUARDED_BY(mutex_) = 0;      // the number of events that are recorded
  std::vector<TrainerStream> unrecorded_
      GUARDED_BY(mutex_);  // streams that were being captured when the batch was dropped
  std::optional<Error> failure_ GUARDED_BY(mutex_);  // why Release() failed, if it did
};

// Leaves pictures to a device that decodes: takes them apart (JpegParcel) and puts them into the
// slot's part for the device, or names a picture that lies in the device's cache already; and draws
// the operations that the device runs on rows.
class SlotPainter final : public DevicePainter {
 public:
  // `cache` may be null. All arguments must outlive the painter.
  SlotPainter(const BatchRecipe& recipe, const DeviceLayout& layout,
              const DevicePictureCache* cache)
      : views_(recipe.views),
        channels_(static_cast<std::uint32_t>(recipe.layout.picture().image.channels)),
        layout_(layout),
        cache_(cache) {}

  bool Paint(const ImagePayload& payload, std::span<const Frame> frames, Slot& slot,
             std::size_t view, std::size_t row) override {
    return Put({}, payload, frames[view], slot, view, row);
  }
  bool PaintCached(const ImagePayload& payload, std::span<const Frame> frames, Slot& slot,
                   std::size_t row) override;
  void DrawOps(std::span<const Frame> frames, Slot& slot, std::size_t view,
               std::size_t row) const override;

 private:
  // `cached` says where the device finds the picture, unless `cached.at` is null.
  // The row's stage of the view's steps.
  std::size_t RowStageOf(const Slot& slot, std::size_t view, std::size_t row) const;
  bool Put(const StoredPicture& cached, const ImagePayload& payload, const Frame& frame, Slot& slot,
           std::size_t view, std::size_t row);

  const std::vector<ViewProgram>& views_;
  const std::uint32_t channels_;
  const DeviceLayout& layout_;
  const DevicePictureCache* const cache_;
  JpegParcel parcel_;
};

}  // namespace sluice
