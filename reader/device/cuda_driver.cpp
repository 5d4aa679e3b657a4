// DeviceDriver for CUDA. The runtime is linked statically and finds the driver when it is used, so
// that one binary runs with and without a GPU.
#include <cstring>
#include <string>

#include <cuda_runtime_api.h>

#include <sluice/error.h>

#include "reader/device/device_driver.h"
#include "reader/device/kernels.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#else  // some toolkits have NVTX in a separate package
inline int nvtxRangePushA(const char*) {
  return 0;
}
inline int nvtxRangePop() {
  return 0;
}
#endif

// A type of the driver's API, whose header is not included here: a CUcontext is a pointer to it.
// (A CUdevice is an int.)
struct CUctx_st;

namespace sluice {

namespace {

void Check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // clears the error, or else the trainer's next call would return it
  throw Error(ErrorCode::kState,
              std::string("CUDA failed to ") + what + ": " + cudaGetErrorString(result));
}

// Returns whether the call succeeded; for calls whose failure is harmless.
bool Done(cudaError_t result) noexcept {
  if (result != cudaSuccess) cudaGetLastError();
  return result == cudaSuccess;
}

cudaStream_t StreamOf(void* stream) noexcept {
  return static_cast<cudaStream_t>(stream);
}
cudaEvent_t EventOf(void* event) noexcept {
  return static_cast<cudaEvent_t>(event);
}

template <class Function>
Function DriverFunction(const char* name) {
  constexpr const char* kWhat = "find its driver's functions";
  void* found = nullptr;
#if CUDART_VERSION >= 12050
  Check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, nullptr), kWhat);
#else
  Check(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, nullptr), kWhat);
#endif
  if (found == nullptr)
    throw Error(ErrorCode::kUnsupported, "CUDA's driver has no " + std::string(name));
  return reinterpret_cast<Function>(found);
}

// A GPU's primary context, which all of the GPU's users share. Push() makes it the calling thread's
// context until Pop(), unless it is that already. cudaSetDevice() cannot take the place of Push()
// and Pop(): the call that goes back to the thread's earlier GPU would create a context of hundreds
// of megabytes there, even if the thread has never used that GPU.
class PrimaryContext {
 public:
  explicit PrimaryContext(int ordinal) : ordinal_(ordinal) {
    if (ordinal < 0) return;  // uses the thread's context
    push_ = DriverFunction<decltype(push_)>("cuCtxPushCurrent");
    pop_ = DriverFunction<decltype(pop_)>("cuCtxPopCurrent");
    current_ = DriverFunction<decltype(current_)>("cuCtxGetCurrent");
    device_ = DriverFunction<decltype(device_)>("cuCtxGetDevice");
    of_stream_ = DriverFunction<decltype(of_stream_)>("cuStreamGetCtx");
    release_ = DriverFunction<decltype(release_)>("cuDevicePrimaryCtxRelease");
    const auto retain = DriverFunction<int (*)(CUctx_st**, int)>("cuDevicePrimaryCtxRetain");
    if (retain(&context_, ordinal) != 0) {
      throw Error(ErrorCode::kState, "CUDA device " + std::to_string(ordinal) +
                                         " cannot be used; `nvidia-smi` may say why");
    }
  }
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;
  ~PrimaryContext() {
    if (context_ != nullptr) release_(ordinal_);
  }

  // Returns whether Pop() must be called.
  bool Push() const noexcept {
    return context_ != nullptr && Current() != context_ && push_(context_) == 0;
  }
  void Pop() const noexcept {
    CUctx_st* popped = nullptr;
    pop_(&popped);
  }

  // Whether the thread works in another context of the same GPU, with other memory and another
  // default stream.
  bool ThreadHasAnother() const noexcept {
    if (context_ == nullptr) return false;
    int device = -1;
    CUctx_st* const current = Current();
    return current != nullptr && current != context_ && device_(&device) == 0 && device == ordinal_;
  }
  // Whether a stream belongs to another context, of this GPU or another. (For a stream of a "green
  // context", the driver may not know.)
  bool IsElsewhere(cudaStream_t stream) const noexcept {
    CUctx_st* context = nullptr;
    return context_ != nullptr && of_stream_(stream, &context) == 0 && context != context_;
  }

 private:
  CUctx_st* Current() const noexcept {  // the thread's; null: it has not used CUDA yet
    CUctx_st* context = nullptr;
    return current_(&context) == 0 ? context : nullptr;
  }

  int ordinal_ = -1;
  CUctx_st* context_ = nullptr;
  // Driver functions; each returns a CUresult, 0 for success.
  int (*push_)(CUctx_st*) = nullptr;
  int (*pop_)(CUctx_st**) = nullptr;
  int (*current_)(CUctx_st**) = nullptr;
  int (*device_)(int*) = nullptr;  // of the thread's context
  int (*of_stream_)(cudaStream_t, CUctx_st**) = nullptr;
  int (*release_)(int) = nullptr;
};

// Whether `stream` is one of the handles that stand for another stream in each context or thread:
// null, cudaStreamLegacy and cudaStreamPerThread.
bool IsStandIn(cudaStream_t stream) noexcept {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

// While this object lives, the thread works in that context. Even if the trainer captures a graph
// on this or another thread, CUDA neither refuses this thread's calls nor records them.
class Within {
 public:
  explicit Within(const PrimaryContext& context) noexcept
      : context_(context),
        pushed_(context.Push()),
        relaxed_(Done(cudaThreadExchangeStreamCaptureMode(&mode_))) {}
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  ~Within() {
    if (relaxed_) Done(cudaThreadExchangeStreamCaptureMode(&mode_));
    if (pushed_) context_.Pop();
  }

 private:
  const PrimaryContext& context_;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  const bool pushed_, relaxed_;
};

class CudaDriver final : public DeviceDriver {
 public:
  // -1: the thread's own GPU.
  explicit CudaDriver(int ordinal) : context_(ordinal) {
    if (ordinal < 0) return;
    RequirePrimaryContext();
    const Within within(context_);
    Check(static_cast<cudaError_t>(LoadPixelKernels()), "load Sluice's kernels");
    Check(static_cast<cudaError_t>(LoadJpegKernels()), "load Sluice's kernels");
  }

  std::string BusId() override {
    const Within within(context_);
    int device = -1;
    char id[32] = "";
    Check(cudaGetDevice(&device), "query the thread's device");
    Check(cudaDeviceGetPCIBusId(id, sizeof id, device), "query a device's place");
    return id;
  }
  // The two functions call NVTX, which takes some nanoseconds if no profiler is attached.
  void BeginRange(const char* name) noexcept override { nvtxRangePushA(name); }
  void EndRange() noexcept override { nvtxRangePop(); }

  std::byte* AllocatePinned(std::size_t bytes) override {
    const Within within(context_);
    void* memory = nullptr;
    Check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "allocate page-locked host memory");
    std::memset(memory, 0, bytes);
    return static_cast<std::byte*>(memory);
  }
  void FreePinned(std::byte* memory) noexcept override {
    const Within within(context_);
    Done(cudaFreeHost(memory));
  }
  std::byte* AllocateDevice(std::size_t bytes) override {
    const Within within(context_);
    void* memory = nullptr;
    Check(cudaMalloc(&memory, bytes),
          "allocate device memory for batches (a smaller batch_size needs less)");
    return static_cast<std::byte*>(memory);
  }
  void FreeDevice(std::byte* memory) noexcept override {
    const Within within(context_);
    Done(cudaFree(memory));
  }
  std::uint64_t FreeDeviceBytes() override {
    const Within within(context_);
    std::size_t free = 0, all = 0;
    Check(cudaMemGetInfo(&free, &all), "query a device's memory");
    return free;
  }

  Stream NewStream() override {
    const Within within(context_);
    cudaStream_t stream = nullptr;
    // The stream is non-blocking, or else the default stream would wait for it.
    Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
    return stream;
  }
  Stream NewPriorityStream() override {
    const Within within(context_);
    int least = 0, greatest = 0;
    Check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "query priorities");
    cudaStream_t stream = nullptr;
    Check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "make a stream");
    return stream;
  }
  void FreeStream(Stream stream) noexcept override {
    const Within within(context_);
    Done(cudaStreamSynchronize(StreamOf(stream)));
    Done(cudaStreamDestroy(StreamOf(stream)));
  }
  Event NewEvent() override { return NewEventWith(cudaEventDisableTiming); }
  Event NewTimedEvent() override { return NewEventWith(cudaEventDefault); }
  void FreeEvent(Event event) noexcept override {
    const Within within(context_);
    Done(cudaEventDestroy(EventOf(event)));
  }

  Graph NewGraph(const std::function<void(Stream)>& work) override {
    constexpr const char* kWhat = "make a graph";
    const Within within(context_);
    const OwnPriorityStream own(*this);
    cudaStream_t const stream = StreamOf(own.get());
    Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), kWhat);
    cudaGraph_t noted = nullptr;
    try {
      work(stream);
    } catch (...) {
      if (Done(cudaStreamEndCapture(stream, &noted))) Done(cudaGraphDestroy(noted));
      throw;
    }
    Check(cudaStreamEndCapture(stream, &noted), kWhat);
    cudaGraphExec_t graph = nullptr;
    cudaError_t result = cudaGraphInstantiateWithFlags(&graph, noted, 0);
    Done(cudaGraphDestroy(noted));
    Check(result, kWhat);
    result = cudaGraphUpload(graph, stream);  // uploads its data now, not at its first launch
    if (result != cudaSuccess) Done(cudaGraphExecDestroy(graph));
    Check(result, kWhat);
    return graph;
  }
  void FreeGraph(Graph graph) noexcept override {
    const Within within(context_);
    Done(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)));
  }

  void Copy(Stream stream, std::byte* to, const std::byte* from_pinned,
            std::size_t bytes) override {
    const Within within(context_);
    Check(cudaMemcpyAsync(to, from_pinned, bytes, cudaMemcpyHostToDevice, StreamOf(stream)),
          "copy a batch");
  }
  void CopyBack(Stream stream, std::byte* to_pinned, const std::byte* from,
                std::size_t bytes) override {
    const Within within(context_);
    Check(cudaMemcpyAsync(to_pinned, from, bytes, cudaMemcpyDeviceToHost, StreamOf(stream)),
          "copy from the device");
  }
  void Decode(Stream stream, const JpegJob& job) override {
    const Within within(context_);
    Check(static_cast<cudaError_t>(StartJpegKernels(job, StreamOf(stream))), "decode a batch");
  }
  void Convert(Stream stream, const Conversion& conversion) override {
    const Within within(context_);
    Check(static_cast<cudaError_t>(StartPixelKernel(conversion, StreamOf(stream))),
          "convert a batch");
  }
  void Launch(Stream stream, Graph graph) override {
    const Within within(context_);
    Check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), StreamOf(stream)), "decode a batch");
  }
  void Wait(Stream stream, Event event) override {
    const Within within(context_);
    Check(cudaStreamWaitEvent(StreamOf(stream), EventOf(event), 0),
          "make a stream wait for a batch");
  }
  void Record(Event event, Stream stream) override {
    const Within within(context_);
    Check(cudaEventRecord(EventOf(event), StreamOf(stream)), "record an event");
  }

  bool IsCapturing(Stream stream) override {
    const Within within(context_);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaError_t result = cudaStreamIsCapturing(StreamOf(stream), &status);
    // This is the default stream, and a stream that would wait for its work is capturing.
    if (result == cudaErrorStreamCaptureImplicit) {
      cudaGetLastError();
      return true;
    }
    Check(result, "query a stream");
    return status != cudaStreamCaptureStatusNone;
  }
  void RequireOwn(Stream stream) override {
    if (IsStandIn(StreamOf(stream))) return RequirePrimaryContext();
    if (!context_.IsElsewhere(StreamOf(stream))) return;
    throw Error(ErrorCode::kInvalidArgument,
                "the stream belongs to another GPU than the batch, or to a context made by "
                "cuCtxCreate; use a stream of the primary context of the batch's GPU: "
                "cudaSetDevice, then cudaStreamCreate");
  }
  Stream ForOtherThreads(Stream stream) noexcept override {
    // The legacy default stream waits for the per-thread default streams of all threads.
    return stream == cudaStreamPerThread ? cudaStreamLegacy : stream;
  }
  void Drain(Stream stream) noexcept override {
    const Within within(context_);
    Done(cudaStreamSynchronize(StreamOf(stream)));
  }
  void Synchronize(Event event) override {
    const Within within(context_);
    Check(cudaEventSynchronize(EventOf(event)), "copy a batch");
  }
  bool IsDone(Event event) override {
    const Within within(context_);
    const cudaError_t result = cudaEventQuery(EventOf(event));
    if (result == cudaErrorNotReady) {
      cudaGetLastError();  // clears "not ready", which CUDA counts as the thread's last error
      return false;
    }
    Check(result, "query an event");
    return true;
  }
  double SecondsBetween(Event begin, Event end) override {
    const Within within(context_);
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, EventOf(begin), EventOf(end)), "read two events");
    return 1e-3 * double(milliseconds);
  }

 private:
  Event NewEventWith(unsigned flags) {
    const Within within(context_);
    cudaEvent_t event = nullptr;
    // A thread that waits for the event sleeps: the decoding threads need the CPU.
    Check(cudaEventCreateWithFlags(&event, cudaEventBlockingSync | flags), "make an event");
    return event;
  }

  void RequirePrimaryContext() const {
    if (!context_.ThreadHasAnother()) return;
    throw Error(ErrorCode::kUnsupported,
                "this thread works in its own CUDA context (cuCtxCreate), but batches are "
                "delivered to the GPU's primary context; make that current in the thread "
                "(cuDevicePrimaryCtxRetain, cuCtxSetCurrent), or call cudaSetDevice");
  }

  const PrimaryContext context_;
};

}  // namespace

int Device::CudaCount() noexcept {
  int count = 0;
  return Done(cudaGetDeviceCount(&count)) ? count : 0;
}

std::shared_ptr<DeviceDriver> OpenCuda(int ordinal) {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0) {
    cudaGetLastError();
    throw Error(ErrorCode::kUnsupported,
                std::string("there is no CUDA device here (") +
                    (result != cudaSuccess ? cudaGetErrorString(result) : "the driver has none") +
                    "); without one, leave LoaderOptions::device and LoaderOptions::ring.pinned at "
                    "their defaults");
  }
  if (ordinal >= count) {
    throw Error(ErrorCode::kUnsupported, "LoaderOptions::device is CUDA device " +
                                             std::to_string(ordinal) + ", and this process sees " +
                                             std::to_string(count) + ", counted from 0");
  }
  return std::make_shared<CudaDriver>(ordinal);
}

}  // namespace sluice
