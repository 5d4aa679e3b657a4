// The kernels, as cuda_driver.cpp starts them.
#pragma once

#include "reader/device/jpeg_job.h"
#include "reader/device/pixels_to_numbers.h"

struct CUstream_st;

namespace sluice {

// These functions work on the thread's device, and return a cudaError_t.

// Load the code of all kernels onto the device. Otherwise, the first launch of each kernel would do
// that, and would wait for the trainer's kernels first.
int LoadJpegKernels() noexcept;   // of jpeg_kernels.cu
int LoadPixelKernels() noexcept;  // of pixel_kernels.cu

// Launch the kernels for a job.
int StartJpegKernels(const JpegJob& job, CUstream_st* stream) noexcept;
int StartPixelKernel(const Conversion& job, CUstream_st* stream) noexcept;

}  // namespace sluice
