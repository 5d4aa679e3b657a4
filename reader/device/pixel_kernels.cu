// The kernels that turn a batch's pixels into numbers, and their launches. Their work is that of
// pixel_ops.h; here it is only divided among blocks of threads:
//
//   Convert         without operations: blocks loop through the whole batch
//   ConvertWithOps  operations on single pixels: several blocks share a sample
//   ConvertWhole    operations that need the whole picture: a sample has one block, whose threads
//                   wait for one another between phases
#include <initializer_list>

#include <cuda_runtime_api.h>

#include "reader/device/kernels.h"
#include "reader/device/pixel_ops.h"

namespace sluice {

namespace {

constexpr unsigned kThreads = 256;  // threads of a block
// The most blocks of Convert: several for each multiprocessor.
constexpr unsigned kMaxBlocks = 2048;
// The groups of four pixels that a thread of ConvertWithOps takes, unless too many blocks result.
constexpr unsigned kFoursEach = 8;
// The threads of a block of ConvertWhole.
constexpr unsigned kThreadsAlone = PixelOpScratch::kMaxThreads;

// The table is in shared memory, because all threads look up random entries.
template <class Number>
__device__ void LoadTable(const Conversion& job, Number* table) {
  for (unsigned i = threadIdx.x; i < job.channels * 256; i += blockDim.x)
    table[i] = static_cast<const Number*>(job.table)[i];
  __syncthreads();
}

// The launch bounds make sure that a block of kThreads threads gets the registers that it needs on
// every GPU.
template <class Number>
__global__ void __launch_bounds__(kThreads) Convert(Conversion job) {
  __shared__ Number table[3 * 256];
  LoadTable(job, table);
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  ConvertShare(job, table, thread, std::uint64_t{gridDim.x} * blockDim.x);
}

// Converts with operations on single pixels: several blocks share a sample.
template <class Number>
__global__ void __launch_bounds__(kThreads) ConvertWithOps(Conversion job) {
  __shared__ Number table[3 * 256];
  __shared__ PixelOpScratch scratch;
  LoadTable(job, table);
  PixelOpThread at;
  at.blocks = gridDim.x / static_cast<unsigned>(job.samples);
  at.sample = blockIdx.x / at.blocks;
  at.block = blockIdx.x % at.blocks;
  at.thread = threadIdx.x;
  at.threads = blockDim.x;
  Phase all;
  all.kind = PhaseKind::kWrite;
  RunPhase(job, table, CountOps(job, at.sample), all, at, scratch);
}

// Converts with operations that look at whole pictures. A multiprocessor runs two blocks at a time:
// while one waits for memory or at a barrier, the other works.
template <class Number>
__global__ void __launch_bounds__(kThreadsAlone, 2) ConvertWhole(Conversion job) {
  __shared__ Number table[3 * 256];
  __shared__ PixelOpScratch scratch;
  LoadTable(job, table);
  PixelOpThread at;
  at.sample = blockIdx.x;
  at.thread = threadIdx.x;
  at.threads = blockDim.x;
  const PixelOp* const ops = OpsOf(job, at.sample);
  const std::uint32_t count = CountOps(job, at.sample);
  for (Phase phase; AdvancePhase(ops, count, phase);) {
    RunPhase(job, table, count, phase, at, scratch);
    __syncthreads();
  }
}

// Uses the launch function, not <<<>>>, because its result is about this launch alone.
cudaError_t Start(void (*kernel)(Conversion), std::uint64_t grid, unsigned threads, Conversion job,
                  cudaStream_t stream) {
  void* arguments[] = {&job};
  return cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(grid)), dim3(threads), arguments, 0,
                          stream);
}

template <class Number>
cudaError_t StartWith(const Conversion& job, cudaStream_t stream) {
  const std::uint64_t items = InFours(job) ? job.pixels / 4 : job.pixels;
  if (job.ops == nullptr) {
    const std::uint64_t blocks = (job.samples * items + kThreads - 1) / kThreads;
    return Start(Convert<Number>, blocks < kMaxBlocks ? blocks : kMaxBlocks, kThreads, job, stream);
  }
  if (job.whole) return Start(ConvertWhole<Number>, job.samples, kThreadsAlone, job, stream);
  const std::uint64_t each = (items + kThreads * kFoursEach - 1) / (kThreads * kFoursEach);
  const std::uint64_t most = 0x7FFFFFFFU / job.samples;  // a grid's largest size
  return Start(ConvertWithOps<Number>, job.samples * (each < most ? each : most), kThreads, job,
               stream);
}

template <class Number>
cudaError_t LoadAll() {
  cudaFuncAttributes attributes;
  for (void (*const kernel)(Conversion) :
       {Convert<Number>, ConvertWithOps<Number>, ConvertWhole<Number>}) {
    const cudaError_t result =
        cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
    if (result != cudaSuccess) return result;
  }
  return cudaSuccess;
}

}  // namespace

int LoadPixelKernels() noexcept {
  for (const cudaError_t result :
       {LoadAll<std::uint8_t>(), LoadAll<std::uint16_t>(), LoadAll<std::uint32_t>()}) {
    if (result != cudaSuccess) return result;
  }
  return cudaSuccess;
}

int StartPixelKernel(const Conversion& job, CUstream_st* stream) noexcept {
  if (job.samples * job.pixels == 0) return cudaSuccess;
  switch (job.number_bytes) {
    case 4: return StartWith<std::uint32_t>(job, stream);
    case 2: return StartWith<std::uint16_t>(job, stream);
    default: return StartWith<std::uint8_t>(job, stream);
  }
}

}  // namespace sluice
