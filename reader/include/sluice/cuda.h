// A CUDA stream as Sluice takes it. This header needs no header of CUDA.
//
// The stream must belong to the batch's GPU, and to the primary context of that GPU: the context
// that the CUDA runtime uses, not one made by cuCtxCreate(). Three handles do not name a stream of
// their own:
//
//   null, cudaStreamLegacy    the default stream of the batch's GPU, whichever GPU is current
//   cudaStreamPerThread       the stream of the thread that calls WaitOn()
//
// The thread that calls WaitOn() for cudaStreamPerThread must live until the batch is dropped. If
// another thread drops the batch, the default stream waits for the stream of the thread that called
// WaitOn(). All streams that wait for the default stream then wait, too.
#pragma once

#include <sluice/device.h>

struct CUstream_st;  // cudaStream_t and CUstream are pointers to it

namespace sluice {

// The stream, for Batch::WaitOn().
inline DeviceStream OnStream(CUstream_st* stream) noexcept {
  return {stream};
}

}  // namespace sluice
