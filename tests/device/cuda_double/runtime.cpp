// The calls of the simulated CUDA. Simulated devices (tests/device/simulated_device.h) do the
// work; CUDA's rules for threads, contexts, captures and errors are here and in world.cpp.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <nvtx3/nvToolsExt.h>

#include "tests/device/cuda_double/world.h"

using namespace cuda_double;
using sluice::SimulatedDevice;

namespace {

// Gives work to a stream, or records it if the stream is being captured.
template <class Action>
cudaError_t Submit(cudaStream_t stream, Action action) {
  return Call(Kind::kUses, [&] {
    const Target target = TargetOf(stream);
    if (target.invalid) return cudaErrorStreamCaptureInvalidated;
    if (target.waits_for_capture) return Invalidate(target, cudaErrorStreamCaptureImplicit);
    if (target.capturing) {
      const std::lock_guard lock(world.mutex);
      world.captures.at(target.handle).work.push_back(action);
      return cudaSuccess;
    }
    const InOrder order(target);
    return action(target);
  });
}

// Functions of CUDA's driver. They return 0 for success.
constexpr int kDeinitialized = 4;
int Retain(CUctx_st** context, int device) {
  if (world.unloaded) return kDeinitialized;
  const std::lock_guard lock(world.mutex);
  if (device < 0 || static_cast<std::size_t>(device) >= world.devices.size()) return 1;
  world.used.insert(device);
  ++world.retained;
  *context = &world.contexts[static_cast<std::size_t>(device)];
  return 0;
}
int Release(int) {
  if (world.unloaded) return kDeinitialized;
  const std::lock_guard lock(world.mutex);
  --world.retained;
  return 0;
}
int Push(CUctx_st* context) {
  if (world.unloaded) return kDeinitialized;
  ThisThread().pushed.push_back(context);
  return 0;
}
int Pop(CUctx_st** context) {
  if (world.unloaded) return kDeinitialized;
  *context = const_cast<CUctx_st*>(ThisThread().pushed.back());
  ThisThread().pushed.pop_back();
  return 0;
}
int GetCurrent(CUctx_st** context) {
  if (world.unloaded) return kDeinitialized;
  const std::lock_guard lock(world.mutex);
  const bool some = ThisThread().bound || !ThisThread().pushed.empty();
  *context = some ? const_cast<CUctx_st*>(CurrentContext()) : nullptr;
  return 0;
}
int GetContextDevice(int* device) {
  constexpr int kInvalidContext = 201;
  if (world.unloaded) return kDeinitialized;
  if (!ThisThread().bound && ThisThread().pushed.empty()) return kInvalidContext;
  *device = CurrentDevice();
  return 0;
}
int GetContextOf(cudaStream_t stream, CUctx_st** context) {
  if (world.unloaded) return kDeinitialized;
  *context = const_cast<CUctx_st*>(TargetOf(stream).owned.context);
  return 0;
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() {
  return std::exchange(ThisThread().last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
  return ThisThread().last_error;
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    default: return "some other error";
  }
}

cudaError_t cudaGetDeviceCount(int* count) {
  return Call(Kind::kPlain, [&] {
    const std::lock_guard lock(world.mutex);
    *count = static_cast<int>(world.devices.size());
    return cudaSuccess;
  });
}
cudaError_t cudaGetDevice(int* device) {
  return Call(Kind::kPlain, [&] {
    *device = CurrentDevice();
    return cudaSuccess;
  });
}
cudaError_t cudaSetDevice(int device) {
  return Call(Kind::kPlain, [&] {
    const std::lock_guard lock(world.mutex);
    if (device < 0 || static_cast<std::size_t>(device) >= world.devices.size())
      return cudaErrorInvalidDevice;
    ThreadState& mine = ThisThread();
    if (mine.pushed.empty()) {
      mine.device = device;
      mine.bound = true;
    } else {
      mine.pushed.back() = &world.contexts[static_cast<std::size_t>(device)];
    }
    world.used.insert(device);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int device) {
  return Call(Kind::kPlain, [&] {
    std::snprintf(id, static_cast<std::size_t>(bytes), "0000:%02x:00.0", 0x65 + device);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSynchronize() {
  return Call(Kind::kWaits, [] {
    std::vector<std::pair<SimulatedDevice*, void*>> streams;
    {
      const std::lock_guard lock(world.mutex);
      for (const auto& [handle, owned] : world.streams) {
        streams.emplace_back(world.devices[static_cast<std::size_t>(owned.context->device)].get(),
                             const_cast<void*>(handle));
      }
      for (const auto& [context, handle] : world.default_streams) {
        streams.emplace_back(world.devices[static_cast<std::size_t>(context->device)].get(),
                             handle);
      }
    }
    for (const auto& [device, handle] : streams)
      device->Drain(handle);
    return cudaSuccess;
  });
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult*) {
  return Call(Kind::kPlain, [&] {
    const std::map<std::string, void*> known = {
        {"cuCtxPushCurrent", reinterpret_cast<void*>(&Push)},
        {"cuCtxPopCurrent", reinterpret_cast<void*>(&Pop)},
        {"cuCtxGetCurrent", reinterpret_cast<void*>(&GetCurrent)},
        {"cuCtxGetDevice", reinterpret_cast<void*>(&GetContextDevice)},
        {"cuStreamGetCtx", reinterpret_cast<void*>(&GetContextOf)},
        {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(&Retain)},
        {"cuDevicePrimaryCtxRelease", reinterpret_cast<void*>(&Release)}};
    const auto found = known.find(symbol);
    *function = found != known.end() ? found->second : nullptr;
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return Call(Kind::kUnsafe, [&] {
    *memory = DeviceOf(CurrentDevice()).AllocatePinned(bytes);
    Register(world.memory, *memory, flags);
    return cudaSuccess;
  });
}
cudaError_t cudaFreeHost(void* memory) {
  return Call(Kind::kFrees, [&] {
    DeviceOf(Unregister(world.memory, memory)).FreePinned(static_cast<std::byte*>(memory));
    return cudaSuccess;
  });
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return Call(Kind::kUnsafe, [&] {
    *memory = DeviceOf(CurrentDevice()).AllocateDevice(bytes);
    Register(world.memory, *memory, 0);
    return cudaSuccess;
  });
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  return Call(Kind::kUnsafe, [&] {
    *free = *all = DeviceOf(CurrentDevice()).FreeDeviceBytes();
    return cudaSuccess;
  });
}
// Unlike on a GPU, memory is freed at once, even if streams use it.
cudaError_t cudaFree(void* memory) {
  return Call(Kind::kFrees, [&] {
    DeviceOf(Unregister(world.memory, memory)).FreeDevice(static_cast<std::byte*>(memory));
    return cudaSuccess;
  });
}
// Unlike on a GPU, copies to the GPU must come from page-locked memory.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return Submit(stream, [=](const Target& target) {
    if (kind == cudaMemcpyHostToDevice) {
      target.device().Copy(target.handle, static_cast<std::byte*>(to),
                           static_cast<const std::byte*>(from), bytes);
    } else {
      target.device().Run(target.handle, [=] { std::memcpy(to, from, bytes); });
    }
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t result = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return result == cudaSuccess ? cudaStreamSynchronize(nullptr) : result;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return Submit(stream, [=](const Target& target) {
    target.device().Run(target.handle, [=] { std::memset(memory, value, bytes); });
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return Call(Kind::kUses, [&] {
    *least = 0;
    *greatest = kGreatestPriority;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return Call(Kind::kUnsafe, [&] {
    *stream = static_cast<cudaStream_t>(DeviceOf(CurrentDevice()).NewStream());
    Register(world.streams, *stream, flags, priority);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return Call(Kind::kFrees, [&] {
    {
      const std::lock_guard lock(world.mutex);
      world.captures.erase(stream);
    }
    DeviceOf(Unregister(world.streams, stream)).FreeStream(stream);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return Call(Kind::kWaits, [&] {
    const Target target = TargetOf(stream);
    if (target.capturing) return Invalidate(target, cudaErrorStreamCaptureUnsupported);
    if (target.waits_for_capture) return Invalidate(target, cudaErrorStreamCaptureImplicit);
    const InOrder order(target);
    target.device().Drain(target.handle);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return Call(Kind::kUses, [&] {
    const Target target = TargetOf(stream);
    const Owned owned = OwnedOf(world.events, event);
    if (target.capturing != owned.captured) {
      if (target.capturing) return Invalidate(target, cudaErrorStreamCaptureIsolation);
      return cudaErrorCapturedEvent;  // on a GPU the stream would join the capture
    }
    if (target.waits_for_capture) return Invalidate(target, cudaErrorStreamCaptureImplicit);
    if (target.capturing) return cudaSuccess;
    const InOrder order(target);
    target.device().Wait(target.handle, event);
    return cudaSuccess;
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return Submit(stream, [=](const Target& target) {
    target.device().Run(target.handle, [=] { function(data); });
    return cudaSuccess;
  });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return Call(Kind::kUnsafe, [&] {
    SimulatedDevice& device = DeviceOf(CurrentDevice());
    const bool timed = (flags & cudaEventDisableTiming) == 0;
    *event = static_cast<cudaEvent_t>(timed ? device.NewTimedEvent() : device.NewEvent());
    Register(world.events, *event, flags);
    return cudaSuccess;
  });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return Call(Kind::kFrees, [&] {
    DeviceOf(Unregister(world.events, event)).FreeEvent(event);
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return Call(Kind::kUses, [&] {
    const Target target = TargetOf(stream);
    if (OwnedOf(world.events, event).context != target.owned.context)
      return cudaErrorInvalidResourceHandle;
    if (target.waits_for_capture) return Invalidate(target, cudaErrorStreamCaptureImplicit);
    {
      const std::lock_guard lock(world.mutex);
      world.events.at(event).captured = target.capturing;
    }
    if (target.capturing) return cudaSuccess;
    const InOrder order(target);
    target.device().Record(event, target.handle);
    return cudaSuccess;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return Call(Kind::kWaits, [&] {
    const Owned owned = OwnedOf(world.events, event);
    if (owned.captured) return cudaErrorCapturedEvent;
    DeviceOf(owned.context->device).Synchronize(event);
    return cudaSuccess;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return Call(Kind::kWaits, [&] {
    const Owned owned = OwnedOf(world.events, event);
    if (owned.captured) return cudaErrorCapturedEvent;
    return DeviceOf(owned.context->device).IsDone(event) ? cudaSuccess : cudaErrorNotReady;
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return Call(Kind::kUses, [&] {
    const Owned owned = OwnedOf(world.events, begin);
    *milliseconds =
        static_cast<float>(1e3 * DeviceOf(owned.context->device).SecondsBetween(begin, end));
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return Call(Kind::kUses, [&] {
    std::swap(*mode, ThisThread().mode);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return Call(Kind::kUses, [&] {
    const Target target = TargetOf(stream);
    *status = target.invalid     ? cudaStreamCaptureStatusInvalidated
              : target.capturing ? cudaStreamCaptureStatusActive
                                 : cudaStreamCaptureStatusNone;
    return target.waits_for_capture ? cudaErrorStreamCaptureImplicit : cudaSuccess;
  });
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return Call(Kind::kUses, [&] {
    const Target target = TargetOf(stream);
    if (target.is_default) return cudaErrorStreamCaptureUnsupported;
    const std::lock_guard lock(world.mutex);
    world.captures[target.handle] = {std::this_thread::get_id(), mode, false, {}};
    return cudaSuccess;
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return Call(Kind::kUses, [&] {
    *graph = nullptr;
    const Target target = TargetOf(stream);
    const std::lock_guard lock(world.mutex);
    const auto capture = world.captures.find(target.handle);
    if (capture == world.captures.end()) return cudaErrorStreamCaptureUnmatched;
    if (capture->second.mode != cudaStreamCaptureModeRelaxed &&
        capture->second.thread != std::this_thread::get_id()) {
      return cudaErrorStreamCaptureWrongThread;
    }
    const Capture captured = std::move(capture->second);
    world.captures.erase(capture);
    if (captured.invalid) return cudaErrorStreamCaptureInvalidated;
    *graph = new CUgraph_st{captured.work};
    ++world.graphs;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return Call(Kind::kDrops, [&] {
    const std::lock_guard lock(world.mutex);
    --world.graphs;
    delete graph;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* instance, cudaGraph_t graph,
                                          unsigned long long) {
  return Call(Kind::kUnsafe, [&] {
    const std::lock_guard lock(world.mutex);
    *instance = new CUgraphExec_st{graph->work};
    ++world.graphs;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t instance) {
  return Call(Kind::kDrops, [&] {
    const std::lock_guard lock(world.mutex);
    --world.graphs;
    delete instance;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t stream) {
  return Submit(stream, [](const Target&) { return cudaSuccess; });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream) {
  return Submit(stream, [work = instance->work](const Target& target) {
    {
      const std::lock_guard lock(world.mutex);
      ++world.launches;
    }
    for (const auto& piece : work)
      if (const cudaError_t result = piece(target)) return result;
    return cudaSuccess;
  });
}

int nvtxRangePushA(const char* message) {
  const std::lock_guard lock(world.mutex);
  world.ranges.insert(message);
  ++world.open_ranges;
  return ThisThread().ranges++;
}
int nvtxRangePop() {
  const std::lock_guard lock(world.mutex);
  if (ThisThread().ranges == 0) std::abort();
  --world.open_ranges;
  return --ThisThread().ranges;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  return Call(Kind::kUnsafe, [&] {
    attributes->maxThreadsPerBlock = 1024;
    return cudaSuccess;
  });
}
}  // extern "C"

cudaError_t LaunchOnGrid(dim3 grid, dim3 block, std::function<void()> kernel, cudaStream_t stream) {
  const cudaError_t result = Submit(stream, [=](const Target& target) {
    if (target.owned.context->device != CurrentDevice()) return cudaErrorInvalidResourceHandle;
    if (grid.x == 0 || grid.x > 0x7FFFFFFF || block.x == 0 || block.x > 1024)
      return cudaErrorInvalidConfiguration;
    target.device().Run(target.handle, [=] { RunGrid(grid.x, block.x, kernel); });
    return cudaSuccess;
  });
  if (result == cudaSuccess && !TargetOf(stream).capturing) {
    const std::lock_guard lock(world.mutex);
    ++world.kernels;
  }
  return result;
}
