// The kernels that decode a wave of pictures (jpeg_job.h), and their launches. The work of a thread
// is in the headers that this file includes; here it is only divided among threads. The kernels run
// one after another: MakeWeights, which also clears coefficients, then DecodeLines for JPEGs and
// UnpackLines for packed pictures, then TransformBlocks, then MakePixels.
#include <initializer_list>

#include <cuda_runtime_api.h>

#include "reader/device/axis_weights.h"
#include "reader/device/jpeg_blocks.h"
#include "reader/device/jpeg_entropy.h"
#include "reader/device/kernels.h"
#include "reader/device/packed_lines.h"
#include "reader/device/raw_pixels.h"

namespace sluice {

namespace {

// A thread decodes a line of MCUs or a part of one, and a batch has few lines. With small blocks,
// the threads spread over all multiprocessors.
constexpr unsigned kLineThreads = 32;
constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksEach = 8;   // thread blocks that share a picture's inverse transforms
constexpr unsigned kMaxWarps = 4096;  // of UnpackLines: about as many as a large GPU holds

__global__ void __launch_bounds__(kThreads) MakeWeights(JpegJob job) {
  if (blockIdx.x >= job.wave->picture_count) return;
  const JpegPicture& picture = job.pictures[job.wave->first_picture + blockIdx.x];
  ClearCoefficientsShare(job, picture, threadIdx.x, blockDim.x);
  MakeWeightsShare(job, picture, threadIdx.x, blockDim.x);
}

__global__ void __launch_bounds__(kLineThreads) DecodeLines(JpegJob job) {
  const unsigned line_count = job.wave->line_count;
  if (blockIdx.x * blockDim.x >= line_count) return;
  __shared__ JpegTables tables;
  __shared__ JpegMcu<kLineThreads> mcu;
  static_assert(sizeof(JpegTables) % sizeof(std::uint32_t) == 0, "copied by words");
  for (unsigned i = threadIdx.x; i < sizeof(JpegTables) / sizeof(std::uint32_t); i += blockDim.x)
    reinterpret_cast<std::uint32_t*>(&tables)[i] =
        reinterpret_cast<const std::uint32_t*>(job.tables)[i];
  __syncthreads();
  const unsigned number = blockIdx.x * blockDim.x + threadIdx.x;
  if (number >= line_count) return;
  const CodedLine line = job.lines[job.wave->first_line + number];
  if (!DecodeCodedLine(job, tables, line, mcu, threadIdx.x))
    AddAtomically(job.broken[line.picture], 1);
}

__global__ void __launch_bounds__(kThreads) TransformBlocks(JpegJob job) {
  const unsigned number = blockIdx.x / kBlocksEach;
  if (number >= job.wave->picture_count) return;
  const JpegPicture& picture = job.pictures[job.wave->first_picture + number];
  TransformJpegShare(job, picture, blockIdx.x % kBlocksEach * blockDim.x + threadIdx.x,
                     kBlocksEach * blockDim.x);
}

__global__ void __launch_bounds__(kThreads) MakePixels(JpegJob job) {
  const JpegWave wave = *job.wave;
  const unsigned each = gridDim.x / job.most_pictures;
  if (blockIdx.x / each >= wave.picture_count) return;
  const std::uint32_t number = wave.first_picture + blockIdx.x / each;
  if (job.pictures[number].components == 0) return;
  __shared__ JpegColumn<kThreads> column;
  MakePictureShare(job, wave, number, blockIdx.x % each * blockDim.x + threadIdx.x,
                   each * blockDim.x, column, threadIdx.x);
}

// A warp unpacks a line of blocks, and then perhaps others. Each warp is a thread block by itself:
// there are enough lines to keep the GPU busy this way.
struct Warp {
  static constexpr std::uint32_t kThreads = 32;
  static constexpr unsigned kAll = 0xFFFFFFFFU;
  __device__ std::uint32_t thread() const { return threadIdx.x; }
  __device__ std::uint32_t SumBefore(std::uint32_t value, std::uint32_t& all) const {
    std::uint32_t sum = value;
    SLUICE_UNROLL
    for (unsigned reach = 1; reach < kThreads; reach *= 2) {
      const std::uint32_t before = __shfl_up_sync(kAll, sum, reach);
      if (threadIdx.x >= reach) sum += before;
    }
    all = __shfl_sync(kAll, sum, kThreads - 1);
    return sum - value;
  }
  __device__ void Meet() const { __syncwarp(); }
};

__global__ void __launch_bounds__(Warp::kThreads) UnpackLines(JpegJob job) {
  const std::uint32_t first = job.wave->first_line + job.wave->line_count;
  const std::uint32_t count = job.wave->packed_count;
  for (std::uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    const CodedLine line = job.lines[first + i];
    if (!UnpackPackedLine(Warp(), job, line) && threadIdx.x == 0)
      AddAtomically(job.broken[line.picture], 1);
  }
}

// Launches a kernel, as Start() in pixel_kernels.cu does.
cudaError_t Start(void (*kernel)(JpegJob), std::uint64_t grid, unsigned threads, JpegJob job,
                  cudaStream_t stream) {
  void* arguments[] = {&job};
  return cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(grid)), dim3(threads), arguments, 0,
                          stream);
}

}  // namespace

int LoadJpegKernels() noexcept {
  cudaFuncAttributes attributes;
  for (void (*const kernel)(JpegJob) :
       {MakeWeights, DecodeLines, UnpackLines, TransformBlocks, MakePixels}) {
    const cudaError_t result =
        cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
    if (result != cudaSuccess) return result;
  }
  return cudaSuccess;
}

int StartJpegKernels(const JpegJob& job, CUstream_st* stream) noexcept {
  const std::uint64_t pictures = job.most_pictures;
  if (pictures == 0) return cudaSuccess;
  if (const cudaError_t result = Start(MakeWeights, pictures, kThreads, job, stream)) return result;
  if (const std::uint32_t lines = job.most_lines) {
    const std::uint64_t blocks = (std::uint64_t{lines} + kLineThreads - 1) / kLineThreads;
    if (const cudaError_t result = Start(DecodeLines, blocks, kLineThreads, job, stream))
      return result;
  }
  if (const std::uint32_t lines = job.most_packed) {
    const std::uint32_t blocks = lines < kMaxWarps ? lines : kMaxWarps;
    if (const cudaError_t result = Start(UnpackLines, blocks, Warp::kThreads, job, stream))
      return result;
  }
  if (job.most_lines > 0 || job.most_packed > 0) {
    if (const cudaError_t result =
            Start(TransformBlocks, pictures * kBlocksEach, kThreads, job, stream)) {
      return result;
    }
  }
  // If an image's last rows are fewer than kRows, threads make rows of several columns.
  const std::uint64_t each = job.most_pixels / (kThreads * JpegColumn<kThreads>::kRows) + 1;
  const std::uint64_t most = 0x7FFFFFFFU / pictures;  // a grid's largest size
  return Start(MakePixels, pictures * (each < most ? each : most), kThreads, job, stream);
}

}  // namespace sluice
