#include <cstring>

#include <cuda_runtime_api.h>

#include <sluice/error.h>

#include "reader/device/pinned_memory.h"

namespace sluice {

std::byte* AllocatePinned(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t result = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
  if (result != cudaSuccess) {
    throw Error(ErrorCode::kUnsupported,
                std::string("page-locked memory cannot be had from CUDA (") +
                    cudaGetErrorString(result) +
                    "); is there a card and a driver? Leave LoaderOptions::pinned off without one");
  }
  std::memset(memory, 0, bytes);
  return static_cast<std::byte*>(memory);
}

void FreePinned(std::byte* memory) noexcept {
  cudaFreeHost(memory);
}

}  // namespace sluice
