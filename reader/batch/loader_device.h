// All that the host's side of the loader knows of a device: a batch's place on the device
// (DeviceBatch), the object by which a decoder thread leaves rows to the device (DevicePainter),
// and the device itself (LoaderDevice); and, for DecodeOn::kAuto, the device's share of the rows
// (DeviceShare) and what rows cost the host (DecodingCosts).
//
// reader/upload/ implements the three classes. Without LoaderOptions::device and ring.pinned,
// pointers to them are null, and the layers below the loader do no work for a device.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <sluice/batch.h>
#include <sluice/error.h>

#include "format/pixels/decode.h"
#include "reader/reading/memory.h"
#include "reader/transform/frame.h"

namespace sluice {

struct Slot;

// A stream of the trainer's, and the thread that passed it to WaitOn(): the handle of CUDA's
// per-thread default stream means a different stream on each thread.
struct TrainerStream {
  void* stream = nullptr;
  std::thread::id by;
};

// The share of a batch's rows that the device is offered under DecodeOn::kAuto: `parts` / kParts of
// them, the last rows of the batch. So the rows that the host decodes lie together and cross in one
// copy, and the decoder threads begin with them, because they take longest.
struct DeviceShare {
  static constexpr unsigned kParts = 64;
  unsigned parts = kParts;
  // Whether the device is offered that row of batch number `batch`. The number of rows offered is
  // rounded over all batches so far, not for each batch, so that fractions of a row add up.
  bool Offers(std::uint64_t batch, std::uint64_t batch_size, std::size_t row) const noexcept {
    const auto offered_before = [&](std::uint64_t index) {
      return index * batch_size * parts / kParts;
    };
    return row >= batch_size - (offered_before(batch + 1) - offered_before(batch));
  }
};

// A slot's memory on a device, and the state there of the batch that is in the slot.
class DeviceBatch {
 public:
  explicit DeviceBatch(const Device& device) : device_(device) {}
  virtual ~DeviceBatch() = default;
  DeviceBatch(const DeviceBatch&) = delete;
  DeviceBatch& operator=(const DeviceBatch&) = delete;

  const Device& device() const noexcept { return device_; }
  // Where the bytes at that offset of the slot's host memory lie on the device. Images lie
  // elsewhere (`images`).
  virtual std::byte* At(std::size_t offset) const noexcept = 0;
  std::vector<ImageBatch> images;  // the images of Slot::images, as they are delivered

  // The consumer's side: see Batch. Release() is called when the batch's last handle is gone.
  virtual void WaitOn(void* stream) = 0;
  virtual void Synchronize() = 0;
  virtual void Release() noexcept = 0;

  // The planner's side. Waits until the host memory may be written. Returns how long the last copy
  // from that memory took, in seconds; nothing if `give_up` was set in the meantime. While a
  // stream's capture must end first, calls `on_capture` again and again.
  using OnCapture = std::function<void(const TrainerStream&)>;
  virtual std::optional<double> Reclaim(const std::atomic<bool>& give_up,
                                        const OnCapture& on_capture = {}) = 0;
  // Waits until no stream uses the memory. Call it before the memory is freed, when the loader's
  // own streams are gone.
  virtual void Finish() noexcept = 0;

  bool decodes = false;       // whether the device decodes pictures of the batch; set by the upload
  double decode_seconds = 0;  // how long the device took for them, once that is known

  // The decoder threads' side. HasPicture() says whether the device is to decode a picture of the
  // row; HasPictures(), of any row.
  virtual bool HasPicture(std::size_t row) const = 0;
  virtual bool HasPictures() const = 0;
  // Gives the row, or all rows, back to the host. Call TakeBackAll() before each batch.
  virtual void TakeBack(std::size_t row) = 0;
  virtual void TakeBackAll() = 0;
  // Moves the device's work on row `from` to row `to`, when the gap of a row that was left out is
  // closed.
  virtual void MoveRow(std::size_t from, std::size_t to) = 0;

  DeviceShare share;
  bool host_only = false;  // whether the host must decode all rows that are read from now on

 private:
  const Device device_;
};

// Leaves the painting of rows to a device. Each decoder thread has one.
class DevicePainter {
 public:
  virtual ~DevicePainter() = default;
  // Leaves a view of the row to the device. Returns false if the host must paint the view.
  // `frames`: by view.
  virtual bool Paint(const ImagePayload& payload, std::span<const Frame> frames, Slot& slot,
                     std::size_t view, std::size_t row) = 0;
  // Leaves all views of the row to the device, if the device has the picture, and otherwise returns
  // false.
  virtual bool PaintCached(const ImagePayload& payload, std::span<const Frame> frames, Slot& slot,
                           std::size_t row) = 0;
  // Draws the random numbers of the pixel operations that the device is to run on a view of the
  // row, whether the host or the device paints that view.
  virtual void DrawOps(std::span<const Frame> frames, Slot& slot, std::size_t view,
                       std::size_t row) const = 0;
};

// A loader's device. If lanes() is 0, batches stay on the host, in memory that the device can read.
class LoaderDevice {
 public:
  virtual ~LoaderDevice() = default;

  // Allocates page-locked, zeroed memory. Throws Error.
  virtual HostBuffer NewMemory(std::size_t bytes) = 0;
  // Makes the device's part of a slot whose memory is from NewMemory(). Null if batches stay on the
  // host.
  virtual std::unique_ptr<DeviceBatch> NewBatch(const Slot&) { return nullptr; }

  // The number of uploads that may be under way at once.
  virtual std::size_t lanes() const noexcept { return 0; }
  // Waits until the trainer no longer uses the slot's memory on the device, for a quarter of a
  // second at most, and not at all once the slot is abandoned. Upload() works without this call:
  // the copy then waits on the device instead.
  virtual void AwaitTrainer(const Slot&) noexcept {}
  // Starts the upload of the slot's batch, and does not wait for it. Returns an Error if the batch
  // fails. If the device then decodes (DeviceBatch::decodes), call AwaitDecoding() and
  // FinishUpload() for the slot: in the order in which uploads were started, and before lanes()
  // more uploads are started. One thread may start uploads while another one finishes them.
  virtual std::optional<Error> Upload(Slot&) { return std::nullopt; }
  // Waits until the device has decoded the slot's pictures. Adds to the vector the rows that the
  // device could not decode.
  virtual std::optional<Error> AwaitDecoding(Slot&, std::vector<std::size_t>&) {
    return std::nullopt;
  }
  // Finishes the upload. The host has decoded the rows in `redone` since AwaitDecoding().
  virtual std::optional<Error> FinishUpload(Slot&, std::span<const std::size_t>) {
    return std::nullopt;
  }
  // Waits for the uploads that were started. No upload may follow.
  virtual void Finish() noexcept {}

  virtual bool IsCapturing(const TrainerStream& stream) = 0;
  // These two calls give a name to the calling thread's work between them, for the device's
  // profiler.
  virtual void BeginRange(const char* name) noexcept = 0;
  virtual void EndRange() noexcept = 0;
};

// A range, from BeginRange() to EndRange(), that lasts as long as this object. Without a device, it
// does nothing.
class LoaderDeviceRange {
 public:
  LoaderDeviceRange(LoaderDevice* device, const char* name) noexcept : device_(device) {
    if (device_ != nullptr) device_->BeginRange(name);
  }
  LoaderDeviceRange(const LoaderDeviceRange&) = delete;
  LoaderDeviceRange& operator=(const LoaderDeviceRange&) = delete;
  ~LoaderDeviceRange() {
    if (device_ != nullptr) device_->EndRange();
  }

 private:
  LoaderDevice* const device_;
};

// The time that rows took a decoder thread, by whether their pictures were offered to the device
// (DecodeOn::kAuto). An offered row is cheap if the device takes it, and expensive if it does not.
struct DecodingCosts {
  struct Rows {
    double seconds = 0;
    std::uint64_t count = 0;
  };
  Rows kept, offered;  // kept: those that were not offered

  void Add(bool was_offered, double seconds) noexcept {
    Rows& rows = was_offered ? offered : kept;
    rows.seconds += seconds;
    ++rows.count;
  }
  DecodingCosts& operator+=(const DecodingCosts& more) noexcept {
    kept.seconds += more.kept.seconds;
    kept.count += more.kept.count;
    offered.seconds += more.offered.seconds;
    offered.count += more.offered.count;
    return *this;
  }
};

}  // namespace sluice
