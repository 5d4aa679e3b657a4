// A CUDA stream as Sluice takes it. This header needs no header of CUDA.
//
// The stream must belong to the batch's GPU, and to the primary context of that GPU: the context
// that the CUDA runtime uses, not one made by cuCtxCreate(). Three handles do not name a stream of
// their own:
//
//   null, cudaStreamLegacy    the default stream of the batch's GPU, whichever GPU is current
//   cudaStreamPerThread       the stream of the thread that calls WaitOn()
//
// If another thread drops a batch that cudaStreamPerThread waited for, the default stream waits for
// that stream, and so do the streams that wait for the default stream. So the thread that called
// WaitOn() must live until the batch is dropped.
#pragma once

#include <sluice/device.h>

struct CUstream_st;  // cudaStream_t and CUstream are pointers to it

namespace sluice {

// The stream, for Batch::WaitOn().
inline DeviceStream OnStream(CUstream_st* stream) noexcept {
  return {stream};
}

}  // namespace sluice
