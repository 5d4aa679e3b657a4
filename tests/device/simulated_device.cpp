#include "tests/device/simulated_device.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <future>
#include <new>
#include <string>
#include <thread>

#include <sluice/error.h>

#include "reader/device/axis_weights.h"
#include "reader/device/jpeg_blocks.h"
#include "reader/device/jpeg_entropy.h"
#include "reader/device/jpeg_pixels.h"
#include "reader/device/packed_lines.h"
#include "reader/device/pixel_ops.h"
#include "reader/device/raw_pixels.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::align_val_t kAlignment{256};  // as cudaMalloc has

constexpr std::uint32_t kThreads = 5;  // of a kernel; few numbers are divisible by 5, so that the
                                       // threads' shares are uneven

// Runs the kernels' threads one after another.
void PlayKernels(const JpegJob& job) {
  const JpegWave& wave = *job.wave;
  const std::uint32_t end = wave.first_picture + wave.picture_count;
  for (std::uint32_t p = wave.first_picture; p < end; ++p) {
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      ClearCoefficientsShare(job, job.pictures[p], thread, kThreads);
      MakeWeightsShare(job, job.pictures[p], thread, kThreads);
    }
  }
  const CodedLine* row = job.lines + wave.first_line;
  for (std::uint32_t i = 0; i < wave.line_count; ++i, ++row) {
    JpegMcu<1> mcu;
    if (!DecodeCodedLine(job, *job.tables, *row, mcu, 0)) ++job.broken[row->picture];
  }
  for (std::uint32_t i = 0; i < wave.packed_count; ++i, ++row) {
    if (!UnpackPackedLine(OneThread(), job, *row)) ++job.broken[row->picture];
  }
  for (std::uint32_t p = wave.first_picture; p < end; ++p) {
    if (job.pictures[p].components == 0) continue;
    for (std::uint32_t thread = 0; thread < kThreads; ++thread)
      TransformJpegShare(job, job.pictures[p], thread, kThreads);
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      JpegColumn<1> column;
      MakePictureShare(job, wave, p, thread, kThreads, column, 0);
    }
  }
}

template <class Number>
void PlayKernel(const Conversion& job) {
  const auto* const table = static_cast<const Number*>(job.table);
  if (job.ops == nullptr) {
    for (std::uint32_t thread = 0; thread < kThreads; ++thread)
      ConvertShare(job, table, thread, kThreads);
    return;
  }
  PixelOpThread at;
  at.threads = kThreads;
  at.blocks = job.whole ? 1 : 3;
  for (at.sample = 0; at.sample < job.samples; ++at.sample) {
    for (at.block = 0; at.block < at.blocks; ++at.block) {
      PixelOpScratch scratch;
      const std::uint32_t count = CountOps(job, at.sample);
      for (Phase phase; AdvancePhase(OpsOf(job, at.sample), count, phase);)
        for (at.thread = 0; at.thread < kThreads; ++at.thread)
          RunPhase(job, table, count, phase, at, scratch);
    }
  }
}

}  // namespace

struct SimulatedDevice::StreamState {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  bool ending = false;
  bool capturing = false;
  Actions noted;                           // while capturing
  std::thread thread{[this] { Play(); }};  // last: it uses the others

  // Does the remaining work, then ends.
  ~StreamState() {
    {
      const std::lock_guard lock(mutex);
      ending = true;
    }
    changed.notify_all();
    thread.join();
  }
  void Play() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return ending || !work.empty(); });
      if (work.empty()) return;
      const std::function<void()> next = std::move(work.front());
      work.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }
};

struct SimulatedDevice::EventState {
  explicit EventState(bool is_timed) : timed(is_timed) {}
  const bool timed;
  std::mutex mutex;
  // The moment at which the stream reaches the point where the event was last recorded. Not valid
  // if the event was never recorded.
  std::shared_future<Clock::time_point> moment;
  std::shared_future<Clock::time_point> Recorded() {
    const std::lock_guard lock(mutex);
    return moment;
  }
};

namespace {

// Returns work for a stream, and sets `moment` to a future: the time at which the stream does it.
auto Noting(std::shared_future<Clock::time_point>& moment) {
  const auto reached = std::make_shared<std::promise<Clock::time_point>>();
  moment = reached->get_future().share();
  return [reached] { reached->set_value(Clock::now()); };
}

}  // namespace

SimulatedDevice::SimulatedDevice(Before before) : before_(std::move(before)) {}

SimulatedDevice::~SimulatedDevice() = default;

std::byte* SimulatedDevice::Allocate(Blocks& blocks, std::size_t bytes) {
  RequireUnbroken();
  auto* const memory = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  const std::lock_guard lock(mutex_);
  blocks[memory] = bytes;
  return memory;
}

void SimulatedDevice::Free(Blocks& blocks, std::byte* memory) noexcept {
  {
    const std::lock_guard lock(mutex_);
    blocks.erase(memory);
  }
  ::operator delete(memory, kAlignment);
}

std::byte* SimulatedDevice::AllocatePinned(std::size_t bytes) {
  std::byte* const memory = Allocate(pinned_, bytes);
  std::memset(memory, 0, bytes);
  return memory;
}
void SimulatedDevice::FreePinned(std::byte* memory) noexcept {
  Free(pinned_, memory);
}
std::byte* SimulatedDevice::AllocateDevice(std::size_t bytes) {
  std::byte* const memory = Allocate(device_, bytes);
  std::memset(memory, 0xDB, bytes);  // so that nobody relies on zeros
  return memory;
}
void SimulatedDevice::FreeDevice(std::byte* memory) noexcept {
  Free(device_, memory);
}

std::uint64_t SimulatedDevice::FreeDeviceBytes() {
  RequireUnbroken();
  const std::uint64_t used = DeviceBytes();
  const std::lock_guard lock(mutex_);
  return memory_ - std::min(used, memory_);
}
void SimulatedDevice::SetMemory(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  memory_ = bytes;
}

template <class T>
void* SimulatedDevice::Keep(std::map<void*, std::unique_ptr<T>>& all, std::unique_ptr<T> one) {
  void* const handle = one.get();
  const std::lock_guard lock(mutex_);
  all[handle] = std::move(one);
  return handle;
}

DeviceDriver::Stream SimulatedDevice::NewStream() {
  RequireUnbroken();
  return Keep(streams_, std::make_unique<StreamState>());
}
void SimulatedDevice::FreeStream(Stream stream) noexcept {
  // Its destructor waits for the stream's work, which may need the mutex. Since it is declared
  // before the lock, it is destroyed after unlocking.
  std::unique_ptr<StreamState> state;
  const std::lock_guard lock(mutex_);
  state = std::move(streams_[stream]);
  streams_.erase(stream);
}
DeviceDriver::Event SimulatedDevice::NewEventOf(bool timed) {
  RequireUnbroken();
  return Keep(events_, std::make_unique<EventState>(timed));
}
void SimulatedDevice::FreeEvent(Event event) noexcept {
  const std::lock_guard lock(mutex_);
  events_.erase(event);
}

DeviceDriver::Graph SimulatedDevice::NewGraph(const std::function<void(Stream)>& work) {
  const OwnStream own(*this);
  StreamState& state = *static_cast<StreamState*>(own.get());
  SetCapturing(&state, true);
  work(&state);
  return Keep(graphs_, std::make_unique<Actions>(std::move(state.noted)));
}
void SimulatedDevice::FreeGraph(Graph graph) noexcept {
  const std::lock_guard lock(mutex_);
  graphs_.erase(graph);
}
void SimulatedDevice::Launch(Stream stream, Graph graph) {
  RequireUnbroken();
  const Actions& actions = *static_cast<const Actions*>(graph);
  StreamState& state = *static_cast<StreamState*>(stream);
  {
    const std::lock_guard lock(state.mutex);
    state.work.insert(state.work.end(), actions.begin(), actions.end());
  }
  state.changed.notify_all();
}

void SimulatedDevice::RequireUnbroken() const {
  const std::lock_guard lock(mutex_);
  if (!broken_.empty()) throw Error(ErrorCode::kState, broken_);
}

void SimulatedDevice::RequireInside(const Blocks& blocks, const void* memory,
                                    std::size_t bytes) const {
  const auto* const at = static_cast<const std::byte*>(memory);
  const std::lock_guard lock(mutex_);
  auto block = blocks.upper_bound(at);
  if (block != blocks.begin() && at + bytes <= std::prev(block)->first + std::prev(block)->second) {
    return;
  }
  throw Error(ErrorCode::kState, "the device does not know this memory, or it is of another kind");
}

void SimulatedDevice::Give(Stream stream, Work work, std::function<void()> action) {
  RequireUnbroken();
  StreamState& state = *static_cast<StreamState*>(stream);
  {
    const std::lock_guard lock(state.mutex);
    if ((work == Work::kWait || work == Work::kOther) && state.capturing) {
      throw Error(ErrorCode::kState, "operation not permitted when stream is capturing");
    }
    std::function<void()> all = [this, work, action = std::move(action)] {
      if (before_) before_(work);
      action();
    };
    if (state.capturing) {
      state.noted.push_back(std::move(all));
    } else {
      state.work.push_back(std::move(all));
    }
  }
  state.changed.notify_all();
}

void SimulatedDevice::Copy(Stream stream, std::byte* to, const std::byte* from_pinned,
                           std::size_t bytes) {
  RequireInside(device_, to, bytes);
  RequireInside(pinned_, from_pinned, bytes);
  Give(stream, Work::kCopy, [=] { std::memcpy(to, from_pinned, bytes); });
}

void SimulatedDevice::CopyBack(Stream stream, std::byte* to_pinned, const std::byte* from,
                               std::size_t bytes) {
  RequireInside(pinned_, to_pinned, bytes);
  RequireInside(device_, from, bytes);
  Give(stream, Work::kCopyBack, [=] { std::memcpy(to_pinned, from, bytes); });
}

void SimulatedDevice::Decode(Stream stream, const JpegJob& job) {
  const std::size_t pictures = job.most_pictures;
  RequireInside(device_, job.wave, sizeof(JpegWave));
  RequireInside(device_, job.pictures, pictures * sizeof(JpegPicture));
  RequireInside(device_, job.lines, std::max(job.most_lines, job.most_packed) * sizeof(CodedLine));
  RequireInside(device_, job.words, 0);
  RequireInside(device_, job.tables, sizeof(JpegTables));
  RequireInside(device_, job.scratch, 0);
  RequireInside(device_, job.broken, pictures * sizeof(std::uint32_t));
  Give(stream, Work::kDecode, [this, job] {
    const JpegWave& wave = *job.wave;
    const std::size_t images = std::size_t{wave.picture_count} * wave.width * wave.height;
    if (images > 0) RequireInside(device_, wave.to, images * job.channels);
    PlayKernels(job);
  });
}

void SimulatedDevice::Convert(Stream stream, const Conversion& job) {
  const std::uint64_t values = job.samples * job.pixels * job.channels;
  RequireInside(device_, job.from, values);
  RequireInside(device_, job.to, values * job.number_bytes);
  RequireInside(device_, job.table, std::size_t{256} * job.channels * job.number_bytes);
  if (job.ops != nullptr)
    RequireInside(device_, job.ops, job.samples * job.ops_each * sizeof(PixelOp));
  if (job.spare_each > 0) RequireInside(device_, job.spare, job.samples * job.spare_each);
  Give(stream, Work::kConvert, [job] {
    switch (job.number_bytes) {
      case 4: return PlayKernel<std::uint32_t>(job);
      case 2: return PlayKernel<std::uint16_t>(job);
      default: return PlayKernel<std::uint8_t>(job);
    }
  });
}

void SimulatedDevice::Wait(Stream stream, Event event) {
  const auto moment = static_cast<EventState*>(event)->Recorded();
  Give(stream, IsDone(event) ? Work::kOther : Work::kWait, [moment] {
    if (moment.valid()) moment.wait();
  });
}

void SimulatedDevice::Record(Event event, Stream stream) {
  std::shared_future<Clock::time_point> moment;
  Give(stream, Work::kOther, Noting(moment));
  auto& state = *static_cast<EventState*>(event);
  const std::lock_guard lock(state.mutex);
  state.moment = std::move(moment);
}

bool SimulatedDevice::IsCapturing(Stream stream) {
  StreamState& state = *static_cast<StreamState*>(stream);
  const std::lock_guard lock(state.mutex);
  return state.capturing;
}

void SimulatedDevice::RequireOwn(Stream stream) {
  const std::lock_guard lock(mutex_);
  if (streams_.count(stream) == 0)
    throw Error(ErrorCode::kInvalidArgument, "the stream belongs to another device");
}

void SimulatedDevice::Synchronize(Event event) {
  const auto moment = static_cast<EventState*>(event)->Recorded();
  if (moment.valid()) moment.wait();
}

bool SimulatedDevice::IsDone(Event event) {
  const auto moment = static_cast<EventState*>(event)->Recorded();
  return !moment.valid() || moment.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

double SimulatedDevice::SecondsBetween(Event begin, Event end) {
  auto* const begins = static_cast<EventState*>(begin);
  auto* const ends = static_cast<EventState*>(end);
  if (!begins->timed || !ends->timed)
    throw Error(ErrorCode::kState, "the event was created without timing");
  const auto first = begins->Recorded();
  const auto last = ends->Recorded();
  return std::chrono::duration<double>(last.get() - first.get()).count();
}

void SimulatedDevice::Run(Stream stream, std::function<void()> kernel) {
  Give(stream, Work::kOther, std::move(kernel));
}

void SimulatedDevice::Drain(Stream stream) noexcept {
  StreamState& state = *static_cast<StreamState*>(stream);
  std::shared_future<Clock::time_point> moment;
  {
    const std::lock_guard lock(state.mutex);
    state.work.emplace_back(Noting(moment));
  }
  state.changed.notify_all();
  moment.wait();
}

void SimulatedDevice::SetCapturing(Stream stream, bool capturing) {
  StreamState& state = *static_cast<StreamState*>(stream);
  const std::lock_guard lock(state.mutex);
  state.capturing = capturing;
  if (capturing) state.noted.clear();
}

void SimulatedDevice::Break(std::string reason) {
  const std::lock_guard lock(mutex_);
  broken_ = std::move(reason);
}

std::size_t SimulatedDevice::DeviceBytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& block : device_)
    bytes += block.second;
  return bytes;
}

std::size_t SimulatedDevice::Alive() const {
  const std::lock_guard lock(mutex_);
  return pinned_.size() + device_.size() + streams_.size() + events_.size() + graphs_.size();
}

}  // namespace sluice
