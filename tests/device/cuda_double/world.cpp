#include "tests/device/cuda_double/world.h"

namespace cuda_double {

World world;

ThreadState& ThisThread() noexcept {
  thread_local ThreadState state;
  return state;
}

int CurrentDevice() {
  const ThreadState& mine = ThisThread();
  return mine.pushed.empty() ? mine.device : mine.pushed.back()->device;
}

const CUctx_st* CurrentContext() {
  const ThreadState& mine = ThisThread();
  return mine.pushed.empty() ? &world.contexts[static_cast<std::size_t>(mine.device)]
                             : mine.pushed.back();
}

// World::mutex must be held for the functions of this namespace.
namespace {

// Whether a capture forbids this thread a call that the capture cannot contain. If so, the call
// also invalidates the capture.
bool ForbiddenByCapture() {
  const cudaStreamCaptureMode mode = ThisThread().mode;
  if (mode == cudaStreamCaptureModeRelaxed) return false;
  bool forbidden = false;
  for (auto& entry : world.captures) {
    Capture& capture = entry.second;
    const bool forbids =
        capture.thread == std::this_thread::get_id()
            ? capture.mode != cudaStreamCaptureModeRelaxed
            : capture.mode == cudaStreamCaptureModeGlobal && mode == cudaStreamCaptureModeGlobal;
    if (forbids) capture.invalid = forbidden = true;
  }
  return forbidden;
}

bool WaitsFor(const Target& target, const void* stream) {
  const Owned& owned = world.streams.at(stream);
  return target.is_default && owned.context == target.owned.context &&
         owned.flags != cudaStreamNonBlocking;
}

}  // namespace

cudaError_t Refusal(Kind kind) {
  const std::lock_guard lock(world.mutex);
  const long call = world.calls++;
  const bool fails = world.from_there_on ? call >= world.fail_after : call == world.fail_after;
  if (world.fail_after >= 0 && fails) return world.failure;
  if (world.devices.empty()) return cudaErrorNoDevice;
  if (kind == Kind::kPlain || kind == Kind::kDrops) return cudaSuccess;
  world.used.insert(CurrentDevice());
  ThisThread().bound = ThisThread().bound || ThisThread().pushed.empty();
  if (kind == Kind::kUses || !ForbiddenByCapture()) return cudaSuccess;
  return cudaErrorStreamCaptureUnsupported;
}

sluice::SimulatedDevice& DeviceOf(int ordinal) {
  const std::lock_guard lock(world.mutex);
  return *world.devices[static_cast<std::size_t>(ordinal)];
}

Target TargetOf(cudaStream_t stream) {
  Target target;
  const std::lock_guard lock(world.mutex);
  if (stream == nullptr || stream == cudaStreamLegacy) {
    target.is_default = true;
    target.owned.context = CurrentContext();
    void*& handle = world.default_streams[target.owned.context];
    if (handle == nullptr)
      handle = world.devices[static_cast<std::size_t>(CurrentDevice())]->NewStream();
    target.handle = handle;
    for (const auto& capture : world.captures)
      target.waits_for_capture = target.waits_for_capture || WaitsFor(target, capture.first);
    return target;
  }
  target.handle = stream;
  if (stream == cudaStreamPerThread) {
    void*& handle = world.thread_streams[{CurrentContext(), std::this_thread::get_id()}];
    if (handle == nullptr) {
      handle = world.devices[static_cast<std::size_t>(CurrentDevice())]->NewStream();
      world.streams[handle] = {CurrentContext(), cudaStreamDefault, 0, false};
    }
    target.handle = handle;
  }
  target.owned = world.streams.at(target.handle);
  const auto capture = world.captures.find(target.handle);
  target.capturing = capture != world.captures.end();
  target.invalid = target.capturing && capture->second.invalid;
  return target;
}

cudaError_t Invalidate(const Target& target, cudaError_t why) {
  const std::lock_guard lock(world.mutex);
  for (auto& [stream, capture] : world.captures)
    if (stream == target.handle || WaitsFor(target, stream)) capture.invalid = true;
  return why;
}

InOrder::InOrder(const Target& target) : target_(target) {
  {
    const std::lock_guard lock(world.mutex);
    for (const auto& stream : world.streams)
      if (WaitsFor(target, stream.first)) others_.push_back(const_cast<void*>(stream.first));
  }
  for (void* const other : others_)
    Order(other, target_.handle);
}

InOrder::~InOrder() {
  for (void* const other : others_)
    Order(target_.handle, other);
}

void InOrder::Order(void* first, void* then) const {
  void* const event = target_.device().NewEvent();
  target_.device().Record(event, first);
  target_.device().Wait(then, event);
  target_.device().FreeEvent(event);
}

void Register(Handles& all, const void* handle, unsigned flags, int priority) {
  const std::lock_guard lock(world.mutex);
  all[handle] = {CurrentContext(), flags, priority, false};
}
Owned OwnedOf(const Handles& all, const void* handle) {
  const std::lock_guard lock(world.mutex);
  return all.at(handle);
}
int Unregister(Handles& all, const void* handle) {
  const std::lock_guard lock(world.mutex);
  const int device = all.at(handle).context->device;
  all.erase(handle);
  return device;
}

void Reset(int devices, sluice::SimulatedDevice::Before before) {
  std::vector<std::shared_ptr<sluice::SimulatedDevice>> old;  // destroyed after the lock
  const std::lock_guard lock(world.mutex);
  old.swap(world.devices);
  world.contexts.clear();
  world.default_streams.clear();
  for (const auto& stream : world.thread_streams)
    world.streams.erase(stream.second);
  world.thread_streams.clear();
  for (int device = 0; device < devices; ++device) {
    world.devices.push_back(std::make_shared<sluice::SimulatedDevice>(before));
    world.contexts.push_back({device});
  }
  world.used.clear();
  world.calls = 0;
  world.launches = world.kernels = 0;
  world.fail_after = -1;
  ThisThread() = {};
}

std::size_t Alive() {
  const std::lock_guard lock(world.mutex);
  std::size_t alive = world.graphs + world.retained;
  for (const auto& device : world.devices)
    alive += device->Alive();
  return alive - world.default_streams.size() - world.thread_streams.size();
}

OwnContext::OwnContext(int device) {
  ThisThread().pushed.push_back(new CUctx_st{device});
}
OwnContext::~OwnContext() {
  delete ThisThread().pushed.back();
  ThisThread().pushed.pop_back();
}

std::set<int> Contexts() {
  const std::lock_guard lock(world.mutex);
  return world.used;
}

void FailAfter(long calls, cudaError_t error, bool from_there_on) {
  const std::lock_guard lock(world.mutex);
  world.calls = 0;
  world.fail_after = calls;
  world.failure = error;
  world.from_there_on = from_there_on;
}
void FailNoMore() {
  const std::lock_guard lock(world.mutex);
  world.fail_after = -1;
}

std::set<std::string> Ranges() {
  const std::lock_guard lock(world.mutex);
  return world.ranges;
}
long OpenRanges() {
  const std::lock_guard lock(world.mutex);
  return world.open_ranges;
}

void Unload() {
  world.unloaded = true;
  // Never destroyed: the remaining work must not wait for the end of other statics.
  const std::lock_guard lock(world.mutex);
  new std::vector<std::shared_ptr<sluice::SimulatedDevice>>(world.devices);
}

std::multiset<int> Priorities() {
  const std::lock_guard lock(world.mutex);
  std::multiset<int> priorities;
  for (const auto& stream : world.streams)
    priorities.insert(stream.second.priority);
  return priorities;
}

std::size_t Kernels() {
  const std::lock_guard lock(world.mutex);
  return world.kernels;
}
std::size_t Launches() {
  const std::lock_guard lock(world.mutex);
  return world.launches;
}

long Calls() {
  const std::lock_guard lock(world.mutex);
  return world.calls;
}

}  // namespace cuda_double
