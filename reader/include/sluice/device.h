// Where a loader delivers its batches: in the host's memory, or on a GPU.
//
//   options.device = sluice::Device::Cuda(0);
//   ...
//   for (const sluice::Batch& batch : loader.Epoch(epoch)) {
//     batch.WaitOn(sluice::OnStream(stream));             // <sluice/cuda.h>; nothing blocks
//     Train<<<..., stream>>>(batch.image().data, batch.DeviceField<std::int32_t>("label").data);
//   }
//
// Copies run beside the trainer's work, on streams of the loader's own. Nothing on the host waits
// for a batch's copy: the trainer's stream does, by an event; and a batch that is dropped gives its
// place back once what its streams had been given by then is done, by an event, too.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace sluice {

class DeviceDriver;  // private

class Device {
 public:
  Device() = default;  // the host
  // That GPU, as the CUDA runtime counts them. Where there is none, a Loader that is to deliver
  // there throws Error(kUnsupported).
  static Device Cuda(int ordinal = 0);
  // How many GPUs can be used: 0 without a card, without its driver, and in a build without CUDA.
  static int CudaCount() noexcept;

  bool is_host() const noexcept { return kind_ == Kind::kHost; }
  bool is_cuda() const noexcept { return kind_ == Kind::kCuda; }
  int ordinal() const noexcept { return ordinal_; }
  std::string name() const;  // "host", "cuda:0"

 private:
  friend struct DeviceAccess;  // private
  enum class Kind : unsigned char { kHost, kCuda, kOther };
  Kind kind_ = Kind::kHost;
  int ordinal_ = 0;
  std::shared_ptr<DeviceDriver> driver_;  // kOther
};

// A queue of work of a device, in the order given. For CUDA a cudaStream_t, which OnStream() of
// <sluice/cuda.h> puts here; null is CUDA's default stream.
struct DeviceStream {
  void* handle = nullptr;
};

// Numbers in a device's memory (in the host's, for batches that lie there).
template <class T>
struct DeviceSpan {
  const T* data = nullptr;
  std::size_t size = 0;  // in T
};

}  // namespace sluice
