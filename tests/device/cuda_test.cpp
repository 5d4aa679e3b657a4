// Runs on a GPU what tests/device/device_*_test.cpp check on a device made of threads. Skipped
// without a GPU, with a message. Also runs on cuda_double/, which always has a GPU.
#include <chrono>
#include <cstdio>
#include <deque>
#include <thread>

#include <cuda_runtime_api.h>

#include <sluice/cuda.h>

#include "tests/device/on_card.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// Fewer and smaller samples if the CPU simulates the GPU.
#if defined(SLUICE_CUDA_DOUBLE)
constexpr int kPictures = 5;
constexpr std::size_t kBatch = 3;
constexpr std::uint32_t kWidths[] = {16, 13};
constexpr int kReused = 200;  // samples, in batches of 10
constexpr std::size_t kLargeBatch = 12;
constexpr std::uint32_t kLargeWidth = 32;
#else
constexpr int kPictures = 100;
constexpr std::size_t kBatch = 16;
constexpr std::uint32_t kWidths[] = {64, 33};
constexpr int kReused = 1000;
constexpr std::size_t kLargeBatch = 256;
constexpr std::uint32_t kLargeWidth = 224;
#endif

// Page-locked memory. A copy to memory that is not page-locked would block the host until the
// stream is done.
struct PinnedMemory {
  explicit PinnedMemory(std::size_t size) : bytes(size) {
    void* memory = nullptr;
    Check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable));
    data = static_cast<std::uint8_t*>(memory);
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { cudaFreeHost(data); }
  std::uint8_t* data = nullptr;
  std::size_t bytes;
};

// A trainer whose stream is late: it sleeps before it copies each batch into its own memory. The
// host continues at once, so the batch is dropped long before it is read.
struct LateTrainer {
  const PinnedMemory& Read(const Batch& batch) {
    batch.WaitOn(OnStream(stream.handle));
    const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
    Check(cudaLaunchHostFunc(stream.handle, sleep, nullptr));
    const PinnedMemory& copy =
        copies.emplace_back(batch.image().samples * batch.image().sample_bytes());
    Check(cudaMemcpyAsync(copy.data, batch.image().data, copy.bytes, cudaMemcpyDeviceToHost,
                          stream.handle));
    return copy;
  }
  ~LateTrainer() { cudaStreamSynchronize(stream.handle); }  // copies may still run

  std::deque<PinnedMemory> copies;
  const Stream stream;
};

// Plays an epoch with a late trainer and the shortest ring.
std::vector<PlayedBatch> PlayLate(const Dataset& dataset, LoaderOptions options,
                                  std::uint64_t epoch) {
  options.device = Device::Cuda(0);
  options.ring.prefetch = 1;
  options.ring.hold = 0;
  std::vector<PlayedBatch> played;
  Loader loader(dataset, options);
  LateTrainer trainer;
  for (const Batch& batch : loader.Epoch(epoch)) {
    played.push_back(WithoutPixels(batch));
    trainer.Read(batch);
  }
  Check(cudaStreamSynchronize(trainer.stream.handle));
  for (std::size_t b = 0; b < played.size(); ++b) {
    const PinnedMemory& copy = trainer.copies[b];
    played[b].pixels.assign(copy.data, copy.data + copy.bytes);
  }
  return played;
}

}  // namespace

TEST_CASE("On a card, batches equal the host's to the bit") {
  if (NoCard()) return;
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, kPictures));
  LoaderOptions options = OptionsFor(kBatch, 4);
  for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
    for (const std::uint32_t width : kWidths) {
      for (const unsigned channels : {3U, 1U}) {
        CAPTURE(layout == Layout::kNCHW, width, channels);
        options.output.layout = layout;
        options.output.channels = channels;
        options.transform = {RandomResizedCrop(width, width - 2), HorizontalFlip()};
        {
          Loader host(dataset, options);
          REQUIRE(PlayOnCard(dataset, options, 2) == PlayBatches(host, 2));
        }
        for (const FloatType type :
             {FloatType::kFloat32, FloatType::kFloat16, FloatType::kBFloat16}) {
          options.transform.resize(2);
          options.transform.push_back(Normalize{{0.5F}, {0.25F}, type});
          Loader host(dataset, options);
          REQUIRE(PlayOnCard(dataset, options, 2) == PlayBatches(host, 2));
        }
      }
    }
  }
}

TEST_CASE("On a card, pixel steps give the host's bytes", "[no-tsan]") {
  if (NoCard()) return;
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, kPictures));
  LoaderOptions options = OptionsFor(kBatch, 4);
  RandomErasing noise{0.7};
  noise.noise = true;
  const Pipeline rows[] = {{ColorJitter{.4, .4, .4, .1}, ColorJitter{0, 0.9, 0, 0.5, 0.5}},
                           {RandomGrayscale{0.3}, Solarize{100, 0.5}, Posterize{3, 0.5},
                            Invert{0.5}, RandomErasing{0.7}},
                           {RandAugment{3}, GaussianBlur{5, 0.1, 2, 0.5}, AutoContrast{0.5},
                            Equalize{0.5}, AdjustSharpness{1.7, 0.5}, noise, TrivialAugmentWide{}}};
  for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
    for (const std::uint32_t width : kWidths) {
      for (const unsigned channels : {3U, 1U}) {
        for (const Pipeline& row : rows) {
          CAPTURE(layout == Layout::kNCHW, width, channels, row.size());
          options.output.layout = layout;
          options.output.channels = channels;
          options.transform = {RandomResizedCrop(width, width - 2), HorizontalFlip()};
          options.transform.insert(options.transform.end(), row.begin(), row.end());
          Loader host(dataset, options);
          REQUIRE(PlayOnCard(dataset, options, 2) == PlayBatches(host, 2));
          options.transform.push_back(Normalize{{0.5F}, {0.25F}, FloatType::kBFloat16});
          Loader numbers(dataset, options);
          REQUIRE(PlayOnCard(dataset, options, 2) == PlayBatches(numbers, 2));
        }
      }
    }
  }
}

TEST_CASE("On a card, JPEGs are decoded to the host's bytes") {
  if (NoCard()) return;
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, kPictures, StoredForm()));
  LoaderOptions options = OptionsFor(kBatch, 4);
  for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
    for (const unsigned channels : {3U, 1U}) {
      CAPTURE(layout == Layout::kNCHW, channels);
      options.output.layout = layout;
      options.output.channels = channels;
      options.transform = {RandomResizedCrop(kWidths[1], kWidths[0]), HorizontalFlip()};
      for (const bool numbers : {false, true}) {
        if (numbers) options.transform.push_back(Normalize{{0.5F}, {0.25F}, FloatType::kFloat16});
        options.on_device.decode = DecodeOn::kHost;
        Loader host(dataset, options);
        const std::vector<PlayedBatch> expected = PlayBatches(host, 2);
        options.on_device.decode = DecodeOn::kDevice;
        REQUIRE(PlayOnCard(dataset, options, 2) == expected);
        REQUIRE(PlayLate(dataset, options, 2) == expected);
      }
    }
  }
}

TEST_CASE("On a card, sizes change with the epoch, and further views are complete") {
  if (NoCard()) return;
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, kPictures));
  LoaderOptions options = OptionsFor(kBatch, 4);
  options.output.layout = Layout::kNCHW;
  options.transform = {RandomResizedCrop(32), ColorJitter{.4, .4, .4, .1},
                       Normalize{{0.5F}, {0.25F}, FloatType::kFloat16}};
  options.sizes = {{0, 16, 16}, {1, 40, 40}};
  options.views = {{"small", {RandomResizedCrop(12), Invert{0.5}}, {}}};
  for (const std::uint64_t epoch : {0, 1}) {
    Loader host(dataset, options);
    REQUIRE(PlayOnCard(dataset, options, epoch) == PlayBatches(host, epoch));
  }
  Loader host(dataset, options);
  options.device = Device::Cuda(0);
  Loader loader(dataset, options);
  EpochIterator of_host = host.Epoch(1).begin();
  for (const Batch& batch : loader.Epoch(1)) {
    batch.Synchronize();
    const ImageBatch small = batch.image("small");
    std::vector<std::uint8_t> pixels(small.samples * small.sample_bytes());
    Check(cudaMemcpy(pixels.data(), small.data, pixels.size(), cudaMemcpyDeviceToHost));
    const ImageBatch expected = of_host->image("small");
    REQUIRE(pixels == std::vector<std::uint8_t>(expected.data, expected.data + pixels.size()));
    ++of_host;
  }
}

TEST_CASE("On a card, slots are reused only when the trainer's stream is done with them") {
  if (NoCard()) return;
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kReused));
  const LoaderOptions options = OptionsFor(10, 4);
  for (const std::uint64_t epoch : {0, 1}) {
    Loader host(dataset, options);
    REQUIRE(PlayLate(dataset, options, epoch) == PlayBatches(host, epoch));
  }
}

TEST_CASE("On a card, large batches are complete for a late trainer, copied and converted") {
  if (NoCard()) return;
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 64));
  LoaderOptions options = OptionsFor(kLargeBatch, std::nullopt);
  std::vector<std::uint64_t> six_batches;
  for (std::uint64_t i = 0; i < 6 * kLargeBatch; ++i)
    six_batches.push_back(i % 64);
  options.order.samples = SampleList::Of(six_batches);
  options.output.layout = Layout::kNCHW;
  options.transform = {RandomResizedCrop(kLargeWidth)};
  for (const bool converts : {false, true}) {
    CAPTURE(converts);
    if (converts) options.transform.push_back(Normalize{{0.5F}, {0.25F}, FloatType::kBFloat16});
    Loader host(dataset, options);
    REQUIRE(PlayLate(dataset, options, 0) == PlayBatches(host, 0));
  }
}

TEST_CASE("On a card, batches come while the trainer captures a graph, in any capture mode") {
  if (NoCard()) return;
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 400));
  LoaderOptions options = OptionsFor(10, 4);
  options.device = Device::Cuda(0);
  for (const cudaStreamCaptureMode mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
    const Stream captured;
    Stream stream;
    Loader loader(dataset, options);
    EpochIterator it = loader.Epoch(0).begin();
    void* memory = nullptr;
    Check(cudaMalloc(&memory, 1920));
    Check(cudaStreamBeginCapture(captured.handle, mode));
    CHECK_THAT(ErrorText([&] { it->WaitOn(OnStream(captured.handle)); }, ErrorCode::kState),
               Catch::Matchers::ContainsSubstring("captured"));
    Check(cudaMemsetAsync(memory, 0, 1920, captured.handle));
    for (int i = 0; i < 20; ++i) {
      it->WaitOn(OnStream(stream.handle));
      ++it;
    }
    cudaGraph_t graph = nullptr;
    Check(cudaStreamEndCapture(captured.handle, &graph));
    REQUIRE(graph != nullptr);
    Check(cudaGraphDestroy(graph));
    Check(cudaStreamSynchronize(stream.handle));
    Check(cudaFree(memory));
  }
}

TEST_CASE("On a card, a loader can be dropped while it copies, and before its batches are") {
  if (NoCard()) return;
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 400));
  LoaderOptions options = OptionsFor(10, 4);
  options.device = Device::Cuda(0);
  for (int round = 0; round < 20; ++round) {
    LateTrainer trainer;
    std::optional<Loader> loader(std::in_place, dataset, options);
    std::optional<Batch> kept;
    for (const Batch& batch : loader->Epoch(0)) {
      trainer.Read(batch);
      kept = batch;
      if (batch.index() == static_cast<std::uint64_t>(round % 5)) break;
    }
    loader.reset();
    const PinnedMemory& copy = trainer.Read(*kept);
    const auto expected = static_cast<std::uint8_t>(kept->samples()[9] % 251);
    kept.reset();
    Check(cudaStreamSynchronize(trainer.stream.handle));
    REQUIRE(copy.data[1919] == expected);
  }
  Check(cudaDeviceSynchronize());
}
