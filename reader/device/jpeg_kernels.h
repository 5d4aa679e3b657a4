// Launches the kernels of jpeg_kernels.cu on the thread's device. Functions return a cudaError_t.
#pragma once

#include "reader/device/jpeg_job.h"

struct CUstream_st;

namespace sluice {

// Loads their code onto the device; see LoadPixelKernels().
int LoadJpegKernels() noexcept;

int StartJpegKernels(const JpegJob& job, CUstream_st* stream) noexcept;

}  // namespace sluice
