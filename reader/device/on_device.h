// What marks functions that run on a GPU and on the processor, and their loops over a few values,
// which a GPU keeps in registers only where the loop is written out.
#pragma once

#if defined(__CUDACC__)
#define SLUICE_ON_DEVICE __host__ __device__
#else
#define SLUICE_ON_DEVICE
#endif

#if defined(__CUDA_ARCH__)  // while nvcc compiles for a GPU, and not the rest
#define SLUICE_UNROLL _Pragma("unroll")
#else
#define SLUICE_UNROLL
#endif
