// Macros and small functions for code that runs on a GPU and on the CPU. SLUICE_ON_DEVICE marks a
// function that is compiled for both. SLUICE_UNROLL marks a short loop, because a GPU keeps an
// array in registers only if the loops over it are unrolled. The functions below are implemented
// differently for the two.
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

// How many bits are set.
SLUICE_ON_DEVICE inline std::uint32_t OnesIn(std::uint64_t bits) noexcept {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popcll(bits));
#else
  return static_cast<std::uint32_t>(__builtin_popcountll(bits));
#endif
}
// The number of the lowest bit that is set. `bits` must not be 0.
SLUICE_ON_DEVICE inline std::uint32_t LowestOne(std::uint64_t bits) noexcept {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__ffsll(static_cast<long long>(bits)) - 1);
#else
  return static_cast<std::uint32_t>(__builtin_ctzll(bits));
#endif
}

}  // namespace sluice
