#include "tests/device/cuda_double/world.h"

namespace cuda_double {

World world;

ThreadState& Mine() noexcept {
  thread_local ThreadState state;
  return state;
}

int CurrentDevice() {
  const ThreadState& mine = Mine();
  return mine.pushed.empty() ? mine.device : mine.pushed.back();
}

namespace {

// Some capture forbids this thread what it could not take in; that is the end of the capture, too.
bool ForbiddenByCapture() {
  const cudaStreamCaptureMode mode = Mine().mode;
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

}  // namespace

cudaError_t Refusal(Kind kind) {
  const std::lock_guard lock(world.mutex);
  const long call = world.calls++;
  const bool fails = world.from_there_on ? call >= world.fail_after : call == world.fail_after;
  if (world.fail_after >= 0 && fails) return world.failure;
  if (world.devices.empty()) return cudaErrorNoDevice;
  if (kind == Kind::kPlain) return cudaSuccess;
  world.used.insert(CurrentDevice());
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
  if (stream == nullptr) {
    target.owned.device = CurrentDevice();
    void*& handle = world.default_streams[target.owned.device];
    if (handle == nullptr)
      handle = world.devices[static_cast<std::size_t>(target.owned.device)]->NewStream();
    target.handle = handle;
    return target;
  }
  target.handle = stream;
  target.owned = world.streams.at(stream);
  const auto capture = world.captures.find(stream);
  target.capturing = capture != world.captures.end();
  target.invalid = target.capturing && capture->second.invalid;
  return target;
}

cudaError_t Invalidate(cudaStream_t stream, cudaError_t why) {
  const std::lock_guard lock(world.mutex);
  world.captures.at(stream).invalid = true;
  return why;
}

void Own(Handles& all, const void* handle, unsigned flags) {
  const std::lock_guard lock(world.mutex);
  all[handle] = {CurrentDevice(), flags, false};
}
Owned OwnedOf(const Handles& all, const void* handle) {
  const std::lock_guard lock(world.mutex);
  return all.at(handle);
}
int Disown(Handles& all, const void* handle) {
  const std::lock_guard lock(world.mutex);
  const int device = all.at(handle).device;
  all.erase(handle);
  return device;
}

void Reset(int devices, sluice::SimulatedDevice::Before before) {
  std::vector<std::shared_ptr<sluice::SimulatedDevice>> old;  // end outside of the mutex
  const std::lock_guard lock(world.mutex);
  old.swap(world.devices);
  world.contexts.clear();
  world.default_streams.clear();
  for (int device = 0; device < devices; ++device) {
    world.devices.push_back(std::make_shared<sluice::SimulatedDevice>(before));
    world.contexts.push_back({device});
  }
  world.used.clear();
  world.calls = 0;
  world.fail_after = -1;
  Mine() = {};
}

std::size_t Alive() {
  const std::lock_guard lock(world.mutex);
  std::size_t alive = world.graphs + world.retained;
  for (const auto& device : world.devices)
    alive += device->Alive();
  return alive - world.default_streams.size();
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

long Calls() {
  const std::lock_guard lock(world.mutex);
  return world.calls;
}

}  // namespace cuda_double
