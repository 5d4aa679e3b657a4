// Starts the kernel of convert.cu.
#pragma once

#include "reader/device/convert.h"

struct CUstream_st;

namespace sluice {

// Returns the cudaError_t of the start.
int StartConvertKernel(const Conversion& job, CUstream_st* stream) noexcept;

}  // namespace sluice
