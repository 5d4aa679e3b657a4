// A CUDA stream as Sluice takes it. Needs no header of CUDA's.
//
// A stream is one of the GPU that the batch is on. Null and cudaStreamLegacy are that GPU's default
// stream, whichever GPU is the thread's; cudaStreamPerThread is that of whoever asks, so a batch
// that it waited for is to be dropped by the same thread.
#pragma once

#include <sluice/device.h>

struct CUstream_st;  // cudaStream_t and CUstream are pointers to it

namespace sluice {

inline DeviceStream OnStream(CUstream_st* stream) noexcept {
  return {stream};
}

}  // namespace sluice
