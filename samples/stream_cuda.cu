// Streams batches to a GPU and runs a kernel on each batch, without a framework. The kernel
// computes the mean of each channel over an epoch.
//
//   stream_cuda data/photos 3
//
// The host waits for nothing within an epoch: the next batches are copied while kernels run.
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <sluice/cuda.h>
#include <sluice/loader.h>

constexpr int kThreads = 256;
constexpr unsigned kSide = 224;
constexpr unsigned kPixels = kSide * kSide;

// One block for each plane (samples x 3 planes): adds the plane's sum to its channel's.
__global__ void AddPlanes(const __half* images, double* sums) {
  __shared__ float partial[kThreads];
  const __half* const plane = images + std::size_t{blockIdx.x} * kPixels;
  float sum = 0;
  for (unsigned i = threadIdx.x; i < kPixels; i += kThreads)
    sum += __half2float(plane[i]);
  partial[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(&sums[blockIdx.x % 3], double(partial[0]));
}

void Check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: stream_cuda DATASET EPOCHS\n");
    return 2;
  }
  if (sluice::Device::CudaCount() == 0) {
    std::fprintf(stderr, "stream_cuda: there is no CUDA device here\n");
    return 1;
  }
  sluice::LoaderOptions options;
  options.device = sluice::Device::Cuda(0);
  options.output.channels = 3;
  options.output.layout = sluice::Layout::kNCHW;
  options.transform = {sluice::RandomResizedCrop(kSide), sluice::HorizontalFlip(),
                       sluice::Normalize{{0}, {1}, sluice::FloatType::kFloat16}};
  sluice::Loader loader(sluice::Dataset::Open(argv[1]), options);

  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  double* sums = nullptr;
  Check(cudaMalloc(&sums, 3 * sizeof(double)));
  for (int epoch = 0; epoch < std::stoi(argv[2]); ++epoch) {
    const auto begin = std::chrono::steady_clock::now();
    std::size_t samples = 0;
    Check(cudaMemsetAsync(sums, 0, 3 * sizeof(double), stream));
    for (const sluice::Batch& batch : loader.Epoch(static_cast<std::uint64_t>(epoch))) {
      batch.WaitOn(sluice::OnStream(stream));  // makes the stream wait, not this thread
      const auto planes = static_cast<unsigned>(3 * batch.size());
      AddPlanes<<<planes, kThreads, 0, stream>>>(
          reinterpret_cast<const __half*>(batch.image().data), sums);
      Check(cudaGetLastError());
      samples += batch.size();
    }  // the batch is dropped; its slot is used again when the stream is done with it
    double mean[3];
    Check(cudaMemcpyAsync(mean, sums, sizeof mean, cudaMemcpyDeviceToHost, stream));
    Check(cudaStreamSynchronize(stream));
    for (double& value : mean)
      value /= static_cast<double>(samples) * kPixels;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("epoch %d  mean %.4f %.4f %.4f  %.0f images/s\n", epoch, mean[0], mean[1], mean[2],
                static_cast<double>(samples) / seconds.count());
  }
  std::printf("%s\n", loader.Stats().Verdict().c_str());
  Check(cudaFree(sums));
  Check(cudaStreamDestroy(stream));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "stream_cuda: %s\n", error.what());
  return 1;
}
