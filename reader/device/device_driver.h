// The interface between the loader and a device: memory, streams and events, and the kinds of work
// done on a stream (copying, decoding and converting).
//
// It has two implementations: CUDA (cuda_driver.cpp), and a device made of threads
// (tests/device/simulated_device.h), which keeps to CUDA's rules; all code that uses a driver is
// tested on it. Any thread may call any function. A function that fails throws Error unless it is
// noexcept. Streams, events and graphs are opaque.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <sluice/device.h>

#include "reader/device/jpeg_job.h"
#include "reader/device/pixels_to_numbers.h"
#include "reader/reading/memory.h"

namespace sluice {

class DeviceDriver {
 public:
  using Stream = void*;
  using Event = void*;
  using Graph = void*;

  virtual ~DeviceDriver() = default;

  // Where the device is on the machine's bus ("0000:65:00.0"), as other libraries name it; empty if
  // it is not on a bus.
  virtual std::string BusId() = 0;

  // These two calls give a name to the calling thread's work between them, for the device's
  // profiler. Ranges nest.
  virtual void BeginRange(const char* name) noexcept = 0;
  virtual void EndRange() noexcept = 0;

  // Page-locked host memory, zeroed; and device memory, uninitialised.
  virtual std::byte* AllocatePinned(std::size_t bytes) = 0;
  virtual void FreePinned(std::byte* memory) noexcept = 0;
  virtual std::byte* AllocateDevice(std::size_t bytes) = 0;
  virtual void FreeDevice(std::byte* memory) noexcept = 0;
  // The device memory that is free, in bytes.
  virtual std::uint64_t FreeDeviceBytes() = 0;

  virtual Stream NewStream() = 0;
  // A stream whose kernels start before those that wait on other streams.
  virtual Stream NewPriorityStream() = 0;
  virtual void FreeStream(Stream stream) noexcept = 0;  // once all of its work is done
  // Events order work. An event of NewEvent() records no time, and so is faster than a timed one.
  virtual Event NewEvent() = 0;
  virtual Event NewTimedEvent() = 0;
  virtual void FreeEvent(Event event) noexcept = 0;

  // Calls `work` with a stream, and makes a graph of all that `work` adds to the stream by the
  // functions below. None of it is done yet.
  virtual Graph NewGraph(const std::function<void(Stream)>& work) = 0;
  virtual void FreeGraph(Graph graph) noexcept = 0;

  // These functions add work to the end of a stream, and return without waiting for it.
  virtual void Copy(Stream stream, std::byte* to, const std::byte* from_pinned,
                    std::size_t bytes) = 0;
  virtual void CopyBack(Stream stream, std::byte* to_pinned, const std::byte* from,
                        std::size_t bytes) = 0;
  // Makes the images of the pictures of the job's wave (jpeg_job.h). The image of a picture with a
  // broken line may hold anything.
  virtual void Decode(Stream stream, const JpegJob& job) = 0;
  virtual void Convert(Stream stream, const Conversion& conversion) = 0;
  // Adds all of a graph's work, which starts faster than the same work added piece by piece.
  virtual void Launch(Stream stream, Graph graph) = 0;
  // The stream waits until the work recorded by the event so far is done; it does not wait if
  // nothing was recorded.
  virtual void Wait(Stream stream, Event event) = 0;
  // Makes the event stand for all work given to the stream so far.
  virtual void Record(Event event, Stream stream) = 0;

  // Whether the stream is being captured into a graph: new work is recorded, not done.
  virtual bool IsCapturing(Stream stream) = 0;
  // Throws Error if `stream`, which the calling thread uses, does not belong to this device. (This
  // device's events cannot be recorded on such a stream.) The code is kInvalidArgument; or
  // kUnsupported if the stream is a default stream and the thread works in a context of its own.
  virtual void RequireOwn(Stream stream) = 0;
  // The handle by which other threads can use the stream. If it has no such handle (a thread's
  // own default stream), returns another stream, which waits for all of that stream's work.
  virtual Stream ForOtherThreads(Stream stream) noexcept = 0;
  // Blocks until the stream has done all of its work, even after errors.
  virtual void Drain(Stream stream) noexcept = 0;
  // Blocks until the work that the event recorded is done.
  virtual void Synchronize(Event event) = 0;
  // Whether that work is done.
  virtual bool IsDone(Event event) = 0;
  // Seconds between two timed events that are done.
  virtual double SecondsBetween(Event begin, Event end) = 0;
};

// Page-locked memory, which keeps the driver alive. Throws what the driver throws.
HostBuffer PinnedBuffer(const std::shared_ptr<DeviceDriver>& driver, std::size_t bytes);

// Opens the GPU of number `ordinal`; -1: the calling thread's GPU. Throws Error, with kUnsupported
// if there is no such GPU, or if this build has no CUDA.
std::shared_ptr<DeviceDriver> OpenCuda(int ordinal);

// The loader's access to the private part of a Device.
struct DeviceAccess {
  static std::shared_ptr<DeviceDriver> Open(const Device& device);  // null: the host
  static Device DeviceOf(std::shared_ptr<DeviceDriver> driver);
};

// RAII handle of a driver's event, stream or graph.
template <auto New, auto Free>
class DriverHandle {
 public:
  DriverHandle() = default;
  template <class... Given>
  explicit DriverHandle(DeviceDriver& driver, const Given&... given)
      : driver_(&driver), handle_((driver.*New)(given...)) {}
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
using OwnPriorityStream = DriverHandle<&DeviceDriver::NewPriorityStream, &DeviceDriver::FreeStream>;
using OwnEvent = DriverHandle<&DeviceDriver::NewEvent, &DeviceDriver::FreeEvent>;
using OwnTimedEvent = DriverHandle<&DeviceDriver::NewTimedEvent, &DeviceDriver::FreeEvent>;
using OwnGraph = DriverHandle<&DeviceDriver::NewGraph, &DeviceDriver::FreeGraph>;

// RAII handle of device memory.
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
