#include <cuda_runtime_api.h>

#include "reader/device/convert_kernel.h"

namespace sluice {

namespace {

constexpr unsigned kThreads = 256;  // of a block
constexpr unsigned kMostBlocks =
    2048;  // some for each multiprocessor; each goes on through the batch

template <class Number>
__global__ void Convert(Conversion job) {
  // Looked up by all threads at random, which shared memory is made for.
  __shared__ Number table[3 * 256];
  for (unsigned i = threadIdx.x; i < job.channels * 256; i += blockDim.x)
    table[i] = static_cast<const Number*>(job.table)[i];
  __syncthreads();
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  ConvertShare(job, table, thread, std::uint64_t{gridDim.x} * blockDim.x);
}

// By the function, not by <<<>>>: its result is of this start alone.
cudaError_t Start(void (*kernel)(Conversion), unsigned grid, Conversion job, cudaStream_t stream) {
  void* arguments[] = {&job};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(grid), dim3(kThreads),
                          arguments, 0, stream);
}

}  // namespace

int StartConvertKernel(const Conversion& job, CUstream_st* stream) noexcept {
  const std::uint64_t pixels = job.samples * job.pixels;
  if (pixels == 0) return cudaSuccess;
  const std::uint64_t items = InFours(job) ? pixels / 4 : pixels;
  const std::uint64_t blocks = (items + kThreads - 1) / kThreads;
  const auto grid = static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
  if (job.number_bytes == 4) {
    return Start(Convert<std::uint32_t>, grid, job, stream);
  }
  return Start(Convert<std::uint16_t>, grid, job, stream);
}

}  // namespace sluice
