// Runs a kernel on the CPU as a GPU would: block after block, each with the number of threads of
// its launch, which run together from one __syncthreads() to the next.
//
// The threads are fibers of the calling thread. Under the thread sanitizer each is a thread of its
// own, ordered against the others only by the start, the end and the barriers. So two threads that
// touch the same memory without a barrier in between are a race, as they are on a GPU.
#pragma once

#include <cstdint>
#include <functional>

namespace cuda_double {

struct Extent {
  unsigned x = 0, y = 0, z = 0;
};
// The place of one thread of a kernel.
struct Place {
  Extent thread, block, threads, blocks;
};

// Runs one kernel at a time; others wait. Aborts if threads of a block disagree about a barrier.
void RunGrid(unsigned blocks, unsigned threads, const std::function<void()>& kernel);

// The calling thread's place; only valid within kernels.
const Place& Here() noexcept;
void Barrier() noexcept;

// Returns the `value` that thread `from` of the calling thread's warp passes. All threads of the
// warp make the call. Aborts if the block is not a single warp.
inline constexpr unsigned kWarpThreads = 32;
std::uint32_t WarpShuffle(unsigned from, std::uint32_t value);

}  // namespace cuda_double

#define __global__
#define __device__
#define __launch_bounds__(...)
#define __shared__ static  // only one block runs at a time
#define threadIdx (::cuda_double::Here().thread)
#define blockIdx (::cuda_double::Here().block)
#define blockDim (::cuda_double::Here().threads)
#define gridDim (::cuda_double::Here().blocks)

inline void __syncthreads() {
  cuda_double::Barrier();
}
inline void __syncwarp() {
  cuda_double::WarpShuffle(0, 0);
}
inline std::uint32_t __shfl_sync(unsigned, std::uint32_t value, unsigned from) {
  return cuda_double::WarpShuffle(from, value);
}
inline std::uint32_t __shfl_up_sync(unsigned, std::uint32_t value, unsigned by) {
  const unsigned thread = threadIdx.x;
  return cuda_double::WarpShuffle(thread < by ? thread : thread - by, value);
}
