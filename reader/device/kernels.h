// The kernels, as cuda_driver.cpp starts them.
#pragma once

#include "reader/device/jpeg_job.h"
#include "reader/device/pixels_to_numbers.h"

struct CUstream_st;

namespace sluice {

// Launches the kernels of jpeg_kernels.cu on the thread's device. Functions return a cudaError_t.

// Loads their code onto the device; see LoadPixelKernels().
int LoadJpegKernels() noexcept;

int StartJpegKernels(const JpegJob& job, CUstream_st* stream) noexcept;

// Launches the kernels of pixel_kernels.cu on the thread's device. Functions return a cudaError_t.

// Loads their code onto the device. Otherwise, the first launch of each kernel would do that, and
// would wait for the trainer's kernels first.
int LoadPixelKernels() noexcept;

int StartPixelKernel(const Conversion& job, CUstream_st* stream) noexcept;

}  // namespace sluice
