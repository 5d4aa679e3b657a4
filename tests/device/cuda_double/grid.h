// Runs a kernel on the processor as a card would: block after block, each with as many threads as
// it was started with, which go on together from one __syncthreads() to the next.
//
// The threads are fibers of the calling thread. Under the thread sanitizer each is a thread of its
// own, ordered against the others by the start, the end and the barriers alone: two that touch the
// same memory without a barrier in between are a race there, as they are on a card.
#pragma once

#include <functional>

namespace cuda_double {

struct Extent {
  unsigned x = 0, y = 0, z = 0;
};
// Of one thread of a kernel.
struct Place {
  Extent thread, block, threads, blocks;
};

// One kernel at a time; others wait. Aborts where threads of a block disagree about a barrier.
void RunGrid(unsigned blocks, unsigned threads, const std::function<void()>& kernel);

// Of the thread that asks; within kernels alone.
const Place& Here() noexcept;
void Barrier() noexcept;

}  // namespace cuda_double

#define __global__
#define __device__
#define __launch_bounds__(threads)
#define __shared__ static  // there is one block at a time
#define threadIdx (::cuda_double::Here().thread)
#define blockIdx (::cuda_double::Here().block)
#define blockDim (::cuda_double::Here().threads)
#define gridDim (::cuda_double::Here().blocks)

inline void __syncthreads() {
  cuda_double::Barrier();
}
