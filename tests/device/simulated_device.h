// A device made of threads of this process: each stream is a thread that does its work in order,
// with no fixed timing against other streams. It lets tests check ordering, reuse and shutdown
// without a GPU.
//
// It keeps to CUDA's rules, and is stricter than CUDA must be: a copy to or from the wrong kind of
// memory throws, and memory freed while a stream works on it is gone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "reader/device/device_driver.h"

namespace sluice {

class SimulatedDevice final : public DeviceDriver {
 public:
  // kWait: the stream waits for an event that was not done when Wait() was called.
  enum class Work { kCopy, kCopyBack, kDecode, kConvert, kWait, kOther };
  // Called on the stream's thread before each piece of work; it may take any time.
  using Before = std::function<void(Work)>;

  explicit SimulatedDevice(Before before = {});
  ~SimulatedDevice() override;

  std::string BusId() override { return {}; }
  void BeginRange(const char*) noexcept override {}
  void EndRange() noexcept override {}
  std::byte* AllocatePinned(std::size_t bytes) override;
  void FreePinned(std::byte* memory) noexcept override;
  std::byte* AllocateDevice(std::size_t bytes) override;
  void FreeDevice(std::byte* memory) noexcept override;
  std::uint64_t FreeDeviceBytes() override;
  Stream NewStream() override;
  Stream NewPriorityStream() override { return NewStream(); }  // each has a thread of its own
  void FreeStream(Stream stream) noexcept override;
  Event NewEvent() override { return NewEventOf(false); }
  Event NewTimedEvent() override { return NewEventOf(true); }
  void FreeEvent(Event event) noexcept override;
  Graph NewGraph(const std::function<void(Stream)>& work) override;
  void FreeGraph(Graph graph) noexcept override;
  void Copy(Stream stream, std::byte* to, const std::byte* from_pinned, std::size_t bytes) override;
  void CopyBack(Stream stream, std::byte* to_pinned, const std::byte* from,
                std::size_t bytes) override;
  void Decode(Stream stream, const JpegJob& job) override;
  void Convert(Stream stream, const Conversion& conversion) override;
  void Launch(Stream stream, Graph graph) override;
  void Wait(Stream stream, Event event) override;
  void Record(Event event, Stream stream) override;
  bool IsCapturing(Stream stream) override;
  void RequireOwn(Stream stream) override;
  Stream ForOtherThreads(Stream stream) noexcept override { return stream; }
  void Drain(Stream stream) noexcept override;
  void Synchronize(Event event) override;
  bool IsDone(Event event) override;
  double SecondsBetween(Event begin, Event end) override;

  // These stand for a trainer's own work on the device. Run() runs a kernel. While SetCapturing()
  // is on, the stream captures a graph: its work is not done, and Wait(), Record() and Run() throw.
  void Run(Stream stream, std::function<void()> kernel);
  void SetCapturing(Stream stream, bool capturing);
  // From now on, calls that allocate, ask for free memory, make streams, events or graphs, or add
  // work to a stream throw an Error with that reason. If the reason is empty, they no longer throw.
  void Break(std::string reason);
  // Sets the size of the memory that the device claims to have; allocations beyond that are not
  // refused.
  void SetMemory(std::uint64_t bytes);

  // The number of allocations, streams, events and graphs that exist.
  std::size_t Alive() const;
  std::size_t DeviceBytes() const;

 private:
  struct StreamState;
  struct EventState;
  using Actions = std::vector<std::function<void()>>;
  using Blocks = std::map<const std::byte*, std::size_t>;

  Event NewEventOf(bool timed);
  template <class T>
  void* Keep(std::map<void*, std::unique_ptr<T>>& all, std::unique_ptr<T> one);
  void Give(Stream stream, Work work, std::function<void()> action);
  std::byte* Allocate(Blocks& blocks, std::size_t bytes);
  void Free(Blocks& blocks, std::byte* memory) noexcept;
  void RequireInside(const Blocks& blocks, const void* memory, std::size_t bytes) const;
  void RequireUnbroken() const;

  const Before before_;
  mutable std::mutex mutex_;  // guards the following
  Blocks pinned_, device_;
  std::map<void*, std::unique_ptr<StreamState>> streams_;
  std::map<void*, std::unique_ptr<EventState>> events_;
  std::map<void*, std::unique_ptr<Actions>> graphs_;
  std::string broken_;
  std::uint64_t memory_ = std::uint64_t{1} << 40;
};

}  // namespace sluice
