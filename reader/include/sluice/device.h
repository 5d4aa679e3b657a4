// Where a loader delivers its batches: in the host's memory, or on a GPU.
//
//   options.device = sluice::Device::Cuda(0);
//   ...
//   for (const sluice::Batch& batch : loader.Epoch(epoch)) {
//     batch.WaitOn(sluice::OnStream(stream));             // <sluice/cuda.h>; nothing blocks
//     Train<<<..., stream>>>(batch.image().data, batch.DeviceField<std::int32_t>("label").data);
//   }
//
// Copies to a GPU run in parallel with the trainer's work, on the loader's own streams. No thread
// of the trainer blocks while a batch is copied: the trainer's stream waits for the copy, by an
// event. When a batch is dropped, its slot is reused once the work submitted so far to the batch's
// streams has finished. The loader learns this by another event.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace sluice {

class DeviceDriver;  // private

// The host, or a GPU.
class Device {
 public:
  Device() = default;  // the host
  // A GPU, by its ordinal in the CUDA runtime. If there is no such GPU, making a Loader with this
  // device throws Error(kUnsupported).
  static Device Cuda(int ordinal = 0);
  // The number of usable GPUs: 0 without a GPU, without its driver, and in a build without CUDA.
  static int CudaCount() noexcept;

  // Whether the device is the host.
  bool is_host() const noexcept { return kind_ == Kind::kHost; }
  // Whether the device is a GPU that CUDA drives.
  bool is_cuda() const noexcept { return kind_ == Kind::kCuda; }
  // A GPU's number in the CUDA runtime; 0 for the host.
  int ordinal() const noexcept { return ordinal_; }
  std::string name() const;  // "host", "cuda:0"

 private:
  friend struct DeviceAccess;  // private
  enum class Kind : unsigned char { kHost, kCuda, kOther };
  Kind kind_ = Kind::kHost;
  int ordinal_ = 0;
  std::shared_ptr<DeviceDriver> driver_;  // kOther
};

// A device's queue of work, which is done in order. For CUDA, this is a cudaStream_t: see
// OnStream() in <sluice/cuda.h>. Null is CUDA's default stream.
struct DeviceStream {
  void* handle = nullptr;  // CUDA: the cudaStream_t
};

// Numbers in device memory (in host memory, for batches on the host).
template <class T>
struct DeviceSpan {
  const T* data = nullptr;  // the first number's address
  std::size_t size = 0;     // in T
};

}  // namespace sluice
