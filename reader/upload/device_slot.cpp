// Release() runs on whichever thread drops the batch, and must not fail. So WaitOn() makes
// everything that Release() needs. A stream that is being captured into a graph cannot record an
// event; it goes to unrecorded_, and Reclaim() records it later, on the planner's thread. A handle
// such as cudaStreamPerThread names another stream in each thread (HandleOf()). The first recorded_
// of events_ have work to wait for; WaitForTrainer() hands them to the copy's stream.
//
// Put() takes words and lines from the slot's budgets without a lock. If there are words but no
// lines left, the words stay taken until TakeBackAll().
#include "reader/upload/device_slot.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "reader/decoding/picture_painter.h"

namespace sluice {

namespace {

// Takes `count` of a budget, from number `at` on. Returns false if there is not so much left.
bool TakeOf(std::atomic<std::uint32_t>& taken, std::size_t count, std::size_t budget,
            std::uint32_t& at) {
  at = taken.load(std::memory_order_relaxed);
  do {
    if (count > budget - at) return false;
  } while (!taken.compare_exchange_weak(at, at + static_cast<std::uint32_t>(count),
                                        std::memory_order_relaxed));
  return true;
}

}  // namespace

DeviceSlot::DeviceSlot(const Device& device, DeviceDriver& driver, const Slot& slot,
                       const DeviceLayout& layout, std::size_t bytes, bool converts)
    : DeviceBatch(device),
      memory(driver, bytes),
      copy_begins(driver),
      copied(driver),
      driver_(driver),
      slot_(slot),
      layout_(layout),
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
  const TrainerStream named{stream, std::this_thread::get_id()};
  // Whether the handle names another stream in each thread, as cudaStreamPerThread does.
  const bool of_thread = driver_.ForOtherThreads(stream) != stream;
  const MutexLock lock(mutex_);
  const auto known = std::ranges::find_if(streams_, [&](const TrainerStream& other) {
    return other.stream == stream && (!of_thread || other.by == named.by);
  });
  // A stream that waits twice is recorded once; the thread is that of the last call.
  if (known != streams_.end()) {
    *known = named;
    return;
  }
  // Makes all that Release() needs, because Release() must not fail.
  if (events_.size() == streams_.size()) events_.emplace_back(driver_);
  unrecorded_.reserve(streams_.size() + 1);
  streams_.push_back(named);
}

DeviceDriver::Stream DeviceSlot::HandleOf(const TrainerStream& named) const noexcept {
  return named.by == std::this_thread::get_id() ? named.stream
                                                : driver_.ForOtherThreads(named.stream);
}

void DeviceSlot::Synchronize() {
  driver_.Synchronize(ready());
}

void DeviceSlot::Release() noexcept {
  const MutexLock lock(mutex_);
  for (const TrainerStream& named : streams_) {
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

void DeviceSlot::AwaitTrainer(const std::atomic<bool>& give_up) noexcept {
  using namespace std::chrono_literals;
  // Bounded, because waiting here is only a favour: the copy's stream waits for the trainer in any
  // case.
  constexpr std::chrono::microseconds kMost = 250ms, kBetweenLooks = 200us;
  const auto until = std::chrono::steady_clock::now() + kMost;
  const MutexLock lock(mutex_);
  const auto wait_on = [&] {
    return !give_up.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < until;
  };
  try {
    for (std::size_t i = 0; i < recorded_; ++i)
      while (!driver_.IsDone(events_[i].get()) && wait_on())
        std::this_thread::sleep_for(kBetweenLooks);
  } catch (const Error&) {  // the upload will meet that error and report it
  }
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

JpegPicture& DeviceSlot::PictureOf(std::size_t view, std::size_t row) const {
  return InSlot<JpegPicture>(layout_.room.pictures_at)[NumberOf(view, row)];
}
std::uint32_t& DeviceSlot::BrokenOf(std::size_t view, std::size_t row) const {
  return InSlot<std::uint32_t>(layout_.room.broken_at)[NumberOf(view, row)];
}
CodedLine* DeviceSlot::PictureLines() const {
  return InSlot<CodedLine>(layout_.room.lines_at);
}
JpegWave* DeviceSlot::Waves() const {
  return InSlot<JpegWave>(layout_.room.waves_at);
}
PixelOp* DeviceSlot::OpsOf(std::size_t view, std::size_t row) const {
  const DeviceLayout::Ops& ops = layout_.ops[view];
  return InSlot<PixelOp>(ops.offset) + row * ops.each;
}

bool DeviceSlot::HasPicture(std::size_t row) const {
  for (std::size_t view = 0; view < layout_.room.views; ++view)
    if (PictureOf(view, row).components > 0) return true;
  return false;
}

bool DeviceSlot::HasPictures() const {
  if (!any_put_.load(std::memory_order_relaxed)) return false;
  for (std::size_t row = 0; row < slot_.rows; ++row)
    if (HasPicture(row)) return true;
  return false;
}

void DeviceSlot::TakeBack(std::size_t row) {
  for (std::size_t view = 0; view < layout_.room.views; ++view)
    PictureOf(view, row).components = 0;
}

void DeviceSlot::TakeBackAll() {
  if (!layout_.room) return;
  lines_put_.store(0, std::memory_order_relaxed);
  words_put_.store(0, std::memory_order_relaxed);
  any_put_.store(false, std::memory_order_relaxed);
  for (std::size_t row = 0; row < layout_.room.images; ++row)
    TakeBack(row);
}

void DeviceSlot::MoveRow(std::size_t from, std::size_t to) {
  for (std::size_t view = 0; view < layout_.ops.size(); ++view)
    std::memcpy(OpsOf(view, to), OpsOf(view, from), layout_.ops[view].row_bytes());
}

bool DeviceSlot::Put(std::size_t view, std::size_t row, const JpegParcel& parcel) {
  const PictureRoom& room = layout_.room;
  const std::size_t count = parcel.lines().size();
  std::uint32_t first_line = 0, first_word = 0;
  if (parcel.scratch() > room.scratch ||
      !TakeOf(words_put_, parcel.words().size(), room.words, first_word) ||
      !TakeOf(lines_put_, count, room.lines, first_line)) {
    return false;
  }
  JpegPicture& picture = PictureOf(view, row);
  parcel.CopyToJob(static_cast<std::uint32_t>(NumberOf(view, row)), first_word, picture,
                   {PictureLines() + first_line, count});
  picture.first_line = first_line;
  picture.lines = static_cast<std::uint32_t>(count);
  picture.scratch = static_cast<std::uint32_t>(parcel.scratch());
  BrokenOf(view, row) = 0;
  any_put_.store(true, std::memory_order_relaxed);
  if (parcel.words().empty()) return true;
  std::memcpy(InSlot<std::byte>(room.words_at) + std::size_t{4} * first_word, parcel.words().data(),
              4 * parcel.words().size());
  return true;
}

std::size_t SlotPainter::RowStageOf(const Slot& slot, std::size_t view, std::size_t row) const {
  return views_[view].geometry.RowStage(slot.stages[view], slot.view_seeds[view],
                                        slot.positions[row]);
}

bool SlotPainter::Put(const StoredPicture& cached, const ImagePayload& payload, const Frame& frame,
                      Slot& slot, std::size_t view, std::size_t row) {
  auto& place = static_cast<DeviceSlot&>(*slot.device);  // Uploader::NewSlot() made it
  if (!layout_.room || place.host_only ||
      !place.share.Offers(slot.index, slot.layout->batch_size, row)) {
    return false;
  }
  if (frame.warped || !views_[view].pixels.idle(RowStageOf(slot, view, row))) return false;
  const bool made = cached.at != nullptr ? parcel_.Make(cached, payload, frame.region, channels_)
                                         : parcel_.Make(payload, frame.region, channels_);
  return made && place.Put(view, row, parcel_);
}

bool SlotPainter::PaintCached(const ImagePayload& payload, std::span<const Frame> frames,
                              Slot& slot, std::size_t row) {
  if (cache_ == nullptr) return false;
  const StoredPicture cached = cache_->Find(slot.refs[row].index);
  if (cached.at == nullptr) return false;
  for (std::size_t v = 0; v < views_.size(); ++v) {
    if (Put(cached, payload, frames[v], slot, v, row)) continue;
    slot.device->TakeBack(row);
    return false;
  }
  for (std::size_t v = 0; v < views_.size(); ++v)
    DrawOps(frames, slot, v, row);
  return true;
}

void SlotPainter::DrawOps(std::span<const Frame> frames, Slot& slot, std::size_t view,
                          std::size_t row) const {
  const std::size_t each = layout_.ops[view].each;
  if (each == 0) return;
  views_[view].pixels.DrawOps({nullptr, frames[view].width(), frames[view].height(), channels_},
                              slot.view_seeds[view], slot.positions[row],
                              {static_cast<DeviceSlot&>(*slot.device).OpsOf(view, row), each},
                              RowStageOf(slot, view, row));
}

}  // namespace sluice
