// The seam between loading and a device: memory, streams and events, and the two things that are
// done on a stream.
//
// Two implement it: CUDA's (cuda_driver.h) and a device made of threads (simulated_device.h), which
// keeps to CUDA's rules and is what everything above is tested on. All functions may be called by
// any thread; those that cannot do what they are asked for throw Error. Streams and events are
// opaque.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <sluice/device.h>

#include "reader/device/convert.h"

namespace sluice {

class DeviceDriver {
 public:
  using Stream = void*;
  using Event = void*;

  virtual ~DeviceDriver() = default;

  // Page-locked memory of the host, zeroed; and the device's own, as it is.
  virtual std::byte* AllocatePinned(std::size_t bytes) = 0;
  virtual void FreePinned(std::byte* memory) noexcept = 0;
  virtual std::byte* AllocateDevice(std::size_t bytes) = 0;
  virtual void FreeDevice(std::byte* memory) noexcept = 0;

  virtual Stream NewStream() = 0;
  virtual void FreeStream(Stream stream) noexcept = 0;  // when all that it was given is done
  virtual Event NewEvent() = 0;
  virtual void FreeEvent(Event event) noexcept = 0;

  // Given to a stream, to be done behind what that was given before; none of them waits.
  virtual void Copy(Stream stream, std::byte* to, const std::byte* from_pinned,
                    std::size_t bytes) = 0;
  virtual void Convert(Stream stream, const Conversion& conversion) = 0;
  // The stream goes on when what had been recorded by now is done; nothing recorded: at once.
  virtual void Wait(Stream stream, Event event) = 0;
  // The event stands for all that the stream has been given so far.
  virtual void Record(Event event, Stream stream) = 0;

  // Whether what the stream is given now is noted down for a graph, instead of done.
  virtual bool IsCapturing(Stream stream) = 0;
  // Of a stream that the calling thread brings: throws Error(kInvalidArgument) where it is not one
  // of this device's, on which events of ours cannot be recorded.
  virtual void RequireOwn(Stream stream) = 0;
  // What other threads than the one that brought the stream name it by; or one that does all that
  // it was given first.
  virtual Stream ForOtherThreads(Stream stream) noexcept = 0;
  // The calling thread waits until the stream has done all that it was given, come what may.
  virtual void Drain(Stream stream) noexcept = 0;
  // The calling thread waits until what was recorded is done.
  virtual void Synchronize(Event event) = 0;
  // Between two events that are done. Seconds.
  virtual double SecondsBetween(Event begin, Event end) = 0;
};

// That GPU; -1: whichever is the calling thread's. Throws Error(kUnsupported) where there is none.
std::shared_ptr<DeviceDriver> OpenCuda(int ordinal);

// What a Device is, for those who work with it.
struct DeviceAccess {
  static std::shared_ptr<DeviceDriver> Open(const Device& device);  // null: the host
  static Device DeviceOf(std::shared_ptr<DeviceDriver> driver);
};

// An event, a stream and memory of a driver's, freed in the end.
template <auto New, auto Free>
class DriverHandle {
 public:
  DriverHandle() = default;
  explicit DriverHandle(DeviceDriver& driver) : driver_(&driver), handle_((driver.*New)()) {}
  DriverHandle(DriverHandle&& other) noexcept
      : driver_(other.driver_), handle_(std::exchange(other.handle_, nullptr)) {}
  DriverHandle& operator=(DriverHandle&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~DriverHandle() {
    if (handle_ != nullptr) (driver_->*Free)(handle_);
  }
  void* get() const noexcept { return handle_; }

 private:
  DeviceDriver* driver_ = nullptr;
  void* handle_ = nullptr;
};
using OwnStream = DriverHandle<&DeviceDriver::NewStream, &DeviceDriver::FreeStream>;
using OwnEvent = DriverHandle<&DeviceDriver::NewEvent, &DeviceDriver::FreeEvent>;

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceDriver& driver, std::size_t bytes)
      : driver_(&driver), data_(driver.AllocateDevice(bytes)), bytes_(bytes) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : driver_(other.driver_), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_ != nullptr) driver_->FreeDevice(data_);
  }
  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }

 private:
  DeviceDriver* driver_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace sluice
