// The kernels of convert.cu, on the thread's device. What is returned is a cudaError_t.
#pragma once

#include "reader/device/convert.h"

struct CUstream_st;

namespace sluice {

// Brings their code to the device, which else would happen at the first start of each, and wait for
// whatever kernels the trainer has there.
int LoadConvertKernels() noexcept;

int StartConvertKernel(const Conversion& job, CUstream_st* stream) noexcept;

}  // namespace sluice
