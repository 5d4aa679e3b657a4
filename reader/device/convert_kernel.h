// Launches the kernels of convert.cu on the thread's device. Functions return a cudaError_t.
#pragma once

#include "reader/device/convert.h"

struct CUstream_st;

namespace sluice {

// Loads their code onto the device. Otherwise the first launch of each would, and would wait for
// the trainer's kernels there.
int LoadConvertKernels() noexcept;

int StartConvertKernel(const Conversion& job, CUstream_st* stream) noexcept;

}  // namespace sluice
