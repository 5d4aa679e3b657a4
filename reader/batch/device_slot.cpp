#include "reader/batch/device_slot.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sluice {

DeviceSlot::DeviceSlot(const Device& device, DeviceDriver& driver, std::size_t bytes, bool converts)
    : memory(driver, bytes),
      copy_begins(driver),
      copied(driver),
      device_(device),
      driver_(driver),
      converts_(converts) {
  if (!converts) return;
  converted = OwnTimedEvent(driver);
  decoding_begins = OwnTimedEvent(driver);
  decoded = OwnTimedEvent(driver);
}

void DeviceSlot::WaitOn(DeviceDriver::Stream stream) {
  driver_.RequireOwn(stream);
  if (driver_.IsCapturing(stream)) {
    throw Error(ErrorCode::kState,
                "Batch::WaitOn() was given a stream that is being captured into a CUDA graph. The "
                "graph would later run on other batches: call WaitOn() before the capture, and let "
                "the graph read a copy of the batch");
  }
  driver_.Wait(stream, ready());
  const Named named{stream, std::this_thread::get_id()};
  const bool of_thread = driver_.ForOtherThreads(stream) != stream;
  const MutexLock lock(mutex_);
  const auto known = std::find_if(streams_.begin(), streams_.end(), [&](const Named& other) {
    return other.stream == stream && (!of_thread || other.by == named.by);
  });
  if (known != streams_.end()) {
    *known = named;
    return;
  }
  // Makes all that Release() needs, because Release() must not fail.
  if (events_.size() == streams_.size()) events_.emplace_back(driver_);
  unrecorded_.reserve(streams_.size() + 1);
  streams_.push_back(named);
}

DeviceDriver::Stream DeviceSlot::HandleOf(const Named& named) const noexcept {
  return named.by == std::this_thread::get_id() ? named.stream
                                                : driver_.ForOtherThreads(named.stream);
}

void DeviceSlot::Synchronize() {
  driver_.Synchronize(ready());
}

void DeviceSlot::Release() noexcept {
  const MutexLock lock(mutex_);
  for (const Named& named : streams_) {
    DeviceDriver::Stream const stream = HandleOf(named);
    try {
      if (driver_.IsCapturing(stream)) {
        unrecorded_.push_back(named);
      } else {
        driver_.Record(events_[recorded_].get(), stream);
        ++recorded_;
      }
    } catch (const Error& error) {
      failure_ = error;
    }
  }
  streams_.clear();
}

bool DeviceSlot::RecordLate(const std::atomic<bool>& give_up, const OnCapture& on_capture) {
  while (!unrecorded_.empty()) {
    DeviceDriver::Stream const stream = HandleOf(unrecorded_.back());
    if (!driver_.IsCapturing(stream)) {
      driver_.Record(events_[recorded_].get(), stream);
      ++recorded_;
      unrecorded_.pop_back();
    } else if (give_up.load(std::memory_order_relaxed)) {
      return false;
    } else {
      if (on_capture) on_capture(unrecorded_.back());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return true;
}

std::optional<double> DeviceSlot::Reclaim(const std::atomic<bool>& give_up,
                                          const OnCapture& on_capture) {
  const MutexLock lock(mutex_);
  if (failure_) {
    const Error failure = *std::exchange(failure_, std::nullopt);
    throw failure;
  }
  if (!RecordLate(give_up, on_capture)) return std::nullopt;
  if (!under_way) return 0;
  driver_.Synchronize(copied.get());
  under_way = false;
  return driver_.SecondsBetween(copy_begins.get(), copied.get());
}

void DeviceSlot::WaitForTrainer(DeviceDriver::Stream stream) {
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < recorded_; ++i)
    driver_.Wait(stream, events_[i].get());
  recorded_ = 0;
}

void DeviceSlot::Finish() noexcept {
  const MutexLock lock(mutex_);
  try {
    const std::atomic<bool> at_once = true;
    RecordLate(at_once, {});  // if a capture still runs, the driver waits when the memory is freed
    for (std::size_t i = 0; i < recorded_; ++i)
      driver_.Synchronize(events_[i].get());
  } catch (const Error&) {  // the device has failed: it uses no memory any more
  }
}

}  // namespace sluice
