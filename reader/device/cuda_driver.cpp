// CUDA behind the seam. The runtime is linked statically and finds the driver when it is used, so
// that one binary runs with and without a card.
#include <cstring>

#include <cuda_runtime_api.h>

#include <sluice/error.h>

#include "reader/device/convert_kernel.h"
#include "reader/device/device_driver.h"

namespace sluice {

namespace {

void Check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // else the trainer's next look at it would find ours
  throw Error(ErrorCode::kState,
              std::string("CUDA failed to ") + what + ": " + cudaGetErrorString(result));
}

cudaStream_t StreamOf(void* stream) noexcept {
  return static_cast<cudaStream_t>(stream);
}
cudaEvent_t EventOf(void* event) noexcept {
  return static_cast<cudaEvent_t>(event);
}

// For as long as it lives, the thread's device is that one, and what the thread asks for is neither
// refused nor taken in because the trainer captures a graph meanwhile, on whatever thread.
class Within {
 public:
  explicit Within(int ordinal) noexcept {
    cudaThreadExchangeStreamCaptureMode(&mode_);
    if (ordinal < 0 || cudaGetDevice(&before_) != cudaSuccess || before_ == ordinal) {
      before_ = -1;
    } else {
      cudaSetDevice(ordinal);
    }
  }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  ~Within() {
    if (before_ >= 0) cudaSetDevice(before_);
    cudaThreadExchangeStreamCaptureMode(&mode_);
  }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  int before_ = -1;
};

class CudaDriver final : public DeviceDriver {
 public:
  explicit CudaDriver(int ordinal) : ordinal_(ordinal) {}

  std::byte* AllocatePinned(std::size_t bytes) override {
    const Within within(ordinal_);
    void* memory = nullptr;
    Check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "lock memory of the host");
    std::memset(memory, 0, bytes);
    return static_cast<std::byte*>(memory);
  }
  void FreePinned(std::byte* memory) noexcept override {
    const Within within(ordinal_);
    cudaFreeHost(memory);
  }
  std::byte* AllocateDevice(std::size_t bytes) override {
    const Within within(ordinal_);
    void* memory = nullptr;
    Check(cudaMalloc(&memory, bytes), "allocate memory for batches; make batch_size smaller?");
    return static_cast<std::byte*>(memory);
  }
  void FreeDevice(std::byte* memory) noexcept override {
    const Within within(ordinal_);
    cudaFree(memory);
  }

  Stream NewStream() override {
    const Within within(ordinal_);
    cudaStream_t stream = nullptr;
    // Beside the default stream, which would wait for it otherwise.
    Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
    return stream;
  }
  void FreeStream(Stream stream) noexcept override {
    const Within within(ordinal_);
    cudaStreamSynchronize(StreamOf(stream));
    cudaStreamDestroy(StreamOf(stream));
  }
  Event NewEvent() override {
    const Within within(ordinal_);
    cudaEvent_t event = nullptr;
    // A thread that waits for it sleeps; the decoding threads need the processor.
    Check(cudaEventCreateWithFlags(&event, cudaEventBlockingSync), "make an event");
    return event;
  }
  void FreeEvent(Event event) noexcept override {
    const Within within(ordinal_);
    cudaEventDestroy(EventOf(event));
  }

  void Copy(Stream stream, std::byte* to, const std::byte* from_pinned,
            std::size_t bytes) override {
    const Within within(ordinal_);
    Check(cudaMemcpyAsync(to, from_pinned, bytes, cudaMemcpyHostToDevice, StreamOf(stream)),
          "copy a batch");
  }
  void Convert(Stream stream, const Conversion& conversion) override {
    const Within within(ordinal_);
    Check(static_cast<cudaError_t>(StartConvertKernel(conversion, StreamOf(stream))),
          "convert a batch");
  }
  void Wait(Stream stream, Event event) override {
    const Within within(ordinal_);
    Check(cudaStreamWaitEvent(StreamOf(stream), EventOf(event), 0),
          "make a stream wait for a batch");
  }
  void Record(Event event, Stream stream) override {
    const Within within(ordinal_);
    Check(cudaEventRecord(EventOf(event), StreamOf(stream)), "record an event");
  }

  bool IsCapturing(Stream stream) override {
    const Within within(ordinal_);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaError_t result = cudaStreamIsCapturing(StreamOf(stream), &status);
    if (result == cudaErrorStreamCaptureImplicit) {  // the default stream beside a capturing one
      cudaGetLastError();
      return true;
    }
    Check(result, "look at a stream");
    return status != cudaStreamCaptureStatusNone;
  }
  void Drain(Stream stream) noexcept override {
    const Within within(ordinal_);
    cudaStreamSynchronize(StreamOf(stream));
  }
  void Synchronize(Event event) override {
    const Within within(ordinal_);
    Check(cudaEventSynchronize(EventOf(event)), "copy a batch");
  }
  double SecondsBetween(Event begin, Event end) override {
    const Within within(ordinal_);
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, EventOf(begin), EventOf(end)), "read two events");
    return 1e-3 * double(milliseconds);
  }

 private:
  const int ordinal_;
};

}  // namespace

int Device::CudaCount() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

std::shared_ptr<DeviceDriver> OpenCuda(int ordinal) {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0) {
    cudaGetLastError();
    throw Error(ErrorCode::kUnsupported,
                std::string("there is no CUDA device here (") +
                    (result != cudaSuccess ? cudaGetErrorString(result) : "the driver has none") +
                    "); leave LoaderOptions::device and pinned as they are without one");
  }
  if (ordinal >= count) {
    throw Error(ErrorCode::kUnsupported, "LoaderOptions::device is CUDA device " +
                                             std::to_string(ordinal) + ", and this process sees " +
                                             std::to_string(count) + ", counted from 0");
  }
  return std::make_shared<CudaDriver>(ordinal);
}

}  // namespace sluice
