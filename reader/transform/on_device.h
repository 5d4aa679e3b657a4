// For functions that run on a GPU and on the CPU: their mark; a mark for short loops, because a GPU
// keeps an array in registers only if the loop is unrolled; and an atomic addition.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define SLUICE_ON_DEVICE __host__ __device__
#else
#define SLUICE_ON_DEVICE
#endif

#if defined(__CUDA_ARCH__)  // while nvcc compiles device code
#define SLUICE_UNROLL _Pragma("unroll")
#else
#define SLUICE_UNROLL
#endif

namespace sluice {

// Adds to a number that other threads of the block add to at the same time.
SLUICE_ON_DEVICE inline void AddAtomically(std::uint32_t& to, std::uint32_t count) noexcept {
#if defined(__CUDA_ARCH__)
  atomicAdd(&to, count);
#else
  __atomic_fetch_add(&to, count, __ATOMIC_RELAXED);
#endif
}

}  // namespace sluice
