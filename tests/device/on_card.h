// Loaders on a GPU, and the batches they give. Without a GPU, tests end early and say so.
#pragma once

#include <chrono>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

#include <sluice/cuda.h>

#include "tests/reader/playing.h"

namespace sluice::test {

inline bool NoCard() {
  if (Device::CudaCount() > 0) return false;
  std::puts("skipped: there is no CUDA device here");
  return true;
}

inline void Check(cudaError_t result) {
  if (result != cudaSuccess) FAIL(cudaGetErrorString(result));
}

struct Stream {
  Stream() { Check(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(handle); }
  cudaStream_t handle = nullptr;
};

inline PlayedBatch WithoutPixels(const Batch& batch) {
  PlayedBatch kept{batch.epoch(), batch.index(), batch.valid(), {}, {}};
  kept.samples.assign(batch.samples().begin(), batch.samples().end());
  return kept;
}

// Plays epochs on the GPU. The trainer's stream copies the images and `views` of each batch back,
// and the batch is dropped at once.
inline std::vector<std::vector<PlayedBatch>> PlayOnCard(
    const Dataset& dataset, LoaderOptions options, std::span<const std::uint64_t> epochs,
    LoaderStats& stats, const std::vector<std::string>& views = {}) {
  options.device = Device::Cuda(0);
  const Stream stream;
  std::vector<std::vector<PlayedBatch>> played;
  Loader loader(dataset, options);
  for (const std::uint64_t epoch : epochs) {
    played.emplace_back();
    for (const Batch& batch : loader.Epoch(epoch)) {
      batch.WaitOn(OnStream(stream.handle));
      PlayedBatch& kept = played.back().emplace_back(WithoutPixels(batch));
      const std::vector<ImageBatch> images = ImageAndViews(batch, views);
      std::size_t bytes = 0;
      for (const ImageBatch& image : images)
        bytes += image.samples * image.sample_bytes();
      kept.pixels.resize(bytes);
      std::uint8_t* at = kept.pixels.data();
      for (const ImageBatch& image : images) {
        bytes = image.samples * image.sample_bytes();
        Check(cudaMemcpyAsync(at, image.data, bytes, cudaMemcpyDeviceToHost, stream.handle));
        at += bytes;
      }
    }
    Check(cudaStreamSynchronize(stream.handle));
    // A thread of the loader stores pictures for the device at its own pace. Waits for it, so that
    // the rows that the next epoch prepares find their pictures stored.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (options.on_device.images != ImagesIn::kStorage &&
           loader.Stats().stored_pictures < dataset.size() &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  stats = loader.Stats();
  return played;
}

inline std::vector<PlayedBatch> PlayOnCard(const Dataset& dataset, const LoaderOptions& options,
                                           std::uint64_t epoch) {
  LoaderStats stats;
  return PlayOnCard(dataset, options, {&epoch, 1}, stats).front();
}

}  // namespace sluice::test
