// A CUDA stream as Sluice takes it. Needs no header of CUDA's.
//
// A stream is one of the GPU that the batch is on, of its primary context: the one that the runtime
// uses, not one of cuCtxCreate(). Null and cudaStreamLegacy are that GPU's default stream,
// whichever GPU is the thread's; cudaStreamPerThread is that of the thread that calls WaitOn().
// (Dropped by another thread, a batch that it waited for makes the default stream wait for it, and
// so those that wait for that. The thread that called WaitOn() must live until then.)
#pragma once

#include <sluice/device.h>

struct CUstream_st;  // cudaStream_t and CUstream are pointers to it

namespace sluice {

inline DeviceStream OnStream(CUstream_st* stream) noexcept {
  return {stream};
}

}  // namespace sluice
