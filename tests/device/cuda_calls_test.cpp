// The CUDA driver (reader/device/cuda_driver.cpp) on the simulated runtime: several GPUs, failing
// calls, contexts, captures. cuda_test.cpp has the tests for a real GPU, and also runs here.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>

#include <sluice/cuda.h>

#include "reader/device/pixels_to_numbers.h"
#include "tests/device/cuda_double/cuda_double.h"
#include "tests/device/trainer.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

LoaderOptions OptionsOn(int device, std::size_t batch_size = 10) {
  LoaderOptions options = OptionsFor(batch_size, 2);
  options.device = Device::Cuda(device);
  return options;
}

// Plays an epoch on CUDA's default stream. Returns whether all its batches equal `expected`.
bool Plays(Loader& loader, std::uint64_t epoch, const std::vector<PlayedBatch>& expected) {
  bool same = true;
  for (const Batch& batch : loader.Epoch(epoch)) {
    batch.WaitOn(OnStream(nullptr));
    batch.Synchronize();
    const PlayedBatch& wanted = expected.at(batch.index());
    same = same && std::equal(batch.samples().begin(), batch.samples().end(),
                              wanted.samples.begin(), wanted.samples.end());
    same = same && std::memcmp(batch.image().data, wanted.pixels.data(), wanted.pixels.size()) == 0;
  }
  return same;
}

std::vector<PlayedBatch> OnTheHost(const Dataset& dataset, LoaderOptions options,
                                   std::uint64_t epoch) {
  options.device = Device();
  Loader loader(dataset, options);
  return PlayBatches(loader, epoch);
}

}  // namespace

TEST_CASE("Without a card, CUDA counts no devices, and an error says why one is missing") {
  cuda_double::Reset(0);
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  CHECK(Device::CudaCount() == 0);
  CHECK_THAT(ErrorText([&] { Loader(dataset, OptionsOn(0)); }, ErrorCode::kUnsupported),
             Catch::Matchers::ContainsSubstring("no CUDA-capable device"));
  LoaderOptions pinned = OptionsFor(10, 1);
  pinned.ring.pinned = true;
  ErrorText([&] { Loader(dataset, pinned); }, ErrorCode::kUnsupported);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  cuda_double::Reset();
}

TEST_CASE("A loader takes memory only on its own GPU, and leaves the thread's GPU as it was") {
  cuda_double::Reset(3);
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  LoaderOptions options = OptionsOn(2);
  options.transform = {Normalize{{0.5F}, {0.25F}, FloatType::kFloat16}};
  {
    Loader loader(dataset, options);
    CHECK(Plays(loader, 0, OnTheHost(dataset, options, 0)));
  }
  CHECK(cuda_double::Contexts() == std::set<int>{2});
  CHECK(cuda_double::Ranges().count("Sluice: start an upload") == 1);
  CHECK(cuda_double::OpenRanges() == 0);
  int device = -1;
  CHECK(cudaGetDevice(&device) == cudaSuccess);
  CHECK(device == 0);
  CHECK(cuda_double::Alive() == 0);
  CHECK_THAT(ErrorText([&] { Loader(dataset, OptionsOn(3)); }, ErrorCode::kUnsupported),
             Catch::Matchers::ContainsSubstring("sees 3"));
}

TEST_CASE("Conversions run before a trainer's kernels, on the stream with the highest priority") {
  cuda_double::Reset();
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  LoaderOptions options = OptionsOn(0);
  options.transform = {Normalize{{0.5F}, {0.25F}, FloatType::kFloat16}};
  const Loader loader(dataset, options);
  CHECK(cuda_double::Priorities() == std::multiset<int>{cuda_double::kGreatestPriority, 0});
}

TEST_CASE("A GPU is found on the bus by its own number, not the thread's") {
  cuda_double::Reset(2);
  CHECK(DeviceAccess::Open(Device::Cuda(0))->BusId() == "0000:65:00.0");
  CHECK(DeviceAccess::Open(Device::Cuda(1))->BusId() == "0000:66:00.0");
}

TEST_CASE("Loaders on several GPUs play at once, whatever the thread's GPU is") {
  cuda_double::Reset(2);
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  const std::vector<PlayedBatch> expected = OnTheHost(dataset, OptionsOn(0), 1);
  for (const int device : {0, 1}) {
    REQUIRE(cudaSetDevice(device) == cudaSuccess);
    Loader first(dataset, OptionsOn(0)), second(dataset, OptionsOn(1));
    bool second_plays = false;
    std::thread other([&] { second_plays = Plays(second, 1, expected); });
    CHECK(Plays(first, 1, expected));
    other.join();
    CHECK(second_plays);
    int now = -1;
    CHECK(cudaGetDevice(&now) == cudaSuccess);
    CHECK(now == device);
  }
  CHECK(cuda_double::Alive() == 0);
}

TEST_CASE("Page-locked batches on the host need a card, and use nothing else of it") {
  cuda_double::Reset();
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 50));
  LoaderOptions options = OptionsFor(10, 2);
  const std::vector<PlayedBatch> expected = OnTheHost(dataset, options, 0);
  options.ring.pinned = true;
  {
    Loader loader(dataset, options);
    CHECK(PlayBatches(loader, 0) == expected);
    CHECK(cuda_double::Alive() == 6);  // slots of the ring: 1 + 4 + 1
  }
  CHECK(cuda_double::Alive() == 0);
}

namespace {

// Runs a loader again and again. In each run, a different call of CUDA fails: every `step`th call
// in turn, first alone, then together with all later calls.
void FailCalls(long step, DecodeOn decode, ImagesIn images = ImagesIn::kStorage) {
  cuda_double::Reset(2);
  const TemporaryFolder folder;
  const bool decodes = decode == DecodeOn::kDevice;
  const Dataset dataset = Dataset::Open(decodes ? WriteJpegDataset(folder, 30, StoredForm())
                                                : WriteRawDataset(folder, 30));
  LoaderOptions options = OptionsOn(1);
  options.transform = {Normalize{{0.5F}, {0.25F}, FloatType::kBFloat16}};
  if (decodes) options.transform.insert(options.transform.begin(), Resize(8, 8));
  const std::vector<PlayedBatch> expected = OnTheHost(dataset, options, 0);
  options.on_device.decode = decode;
  options.on_device.images = images;
  options.ring.prefetch = 2;  // a short ring makes fewer calls, and so fewer runs
  const auto play = [&] {
    Loader loader(dataset, options);
    const bool same = Plays(loader, 0, expected);
    CHECK(same);
  };
  cuda_double::FailAfter(-1, cudaSuccess);
  play();
  const long calls = cuda_double::Calls();
  long tried = 0, reported = 0;
  if (kSanitized && step > 1) step = 3 * step + 2;  // a run takes seconds under a sanitizer
  for (long call = 0; call < calls; call += step) {
    CAPTURE(call, calls);
    for (const bool from_there_on : {false, true}) {
      cuda_double::FailAfter(call, cudaErrorIllegalAddress, from_there_on);
      ++tried;
      try {
        play();
      } catch (const Error& error) {
        const std::string text = error.what();
        CHECK_THAT(text, Catch::Matchers::ContainsSubstring("illegal memory access"));
        ++reported;
      }
      cuda_double::FailNoMore();
      REQUIRE(cuda_double::Alive() == 0);
      cudaGetLastError();
    }
  }
  CHECK(reported > tried / 4);
  play();
}

}  // namespace

TEST_CASE("Whichever call of CUDA fails, a loader says so or continues, and leaks nothing") {
  FailCalls(19, DecodeOn::kHost);
}

TEST_CASE("Whichever call of CUDA fails while a device decodes, a loader says so or continues") {
  FailCalls(23, DecodeOn::kDevice);
}

TEST_CASE("Whichever call of CUDA fails while pictures are stored, a loader says so or continues") {
  FailCalls(23, DecodeOn::kDevice, ImagesIn::kDevice);
}

TEST_CASE("Every single call of CUDA may fail", "[slow]") {
  for (const DecodeOn decode : {DecodeOn::kHost, DecodeOn::kDevice})
    FailCalls(1, decode);
}

TEST_CASE("A trainer's next check of CUDA errors does not find a loader's error") {
  cuda_double::Reset();
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  for (long call = 0; call < 30; ++call) {
    cuda_double::FailAfter(call, cudaErrorMemoryAllocation);
    try {
      const Loader loader(dataset, OptionsOn(0));
    } catch (const Error&) {
    }
    CAPTURE(call);
    REQUIRE(cudaPeekAtLastError() == cudaSuccess);
  }
}

TEST_CASE("The driver may disappear before a loader does, as when a program ends") {
  cuda_double::Reset();
  const TemporaryFolder folder;
  std::optional<Loader> loader(std::in_place, Dataset::Open(WriteRawDataset(folder, 100)),
                               OptionsOn(0));
  std::optional<Batch> kept;
  for (const Batch& batch : loader->Epoch(0)) {
    batch.WaitOn(OnStream(nullptr));
    kept = batch;
    if (batch.index() == 2) break;
  }
  cuda_double::FailAfter(0, cudaErrorCudartUnloading, true);
  loader.reset();
  kept.reset();
  cuda_double::FailNoMore();
  CHECK(cuda_double::Alive() == 0);
}

namespace {

// Runs one of these tests in a process of its own. Returns its status as std::system() does:
// 0 if it exits well.
int EndOfProcess(const char* test) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      "SLUICE_EXIT_TEST=1 ASAN_OPTIONS=detect_leaks=0 '" + self + "' '" + test + "' >&2";
  return std::system(command.c_str());
}

}  // namespace

// The operating system releases what CUDA had.
TEST_CASE("A process exits well if a static loader and batch outlive the CUDA runtime") {
  CHECK(EndOfProcess("exit with a static loader and batch") == 0);
}

TEST_CASE("exit with a static loader and batch", "[.]") {
  if (std::getenv("SLUICE_EXIT_TEST") == nullptr) return;  // other tests still need the runtime
  static std::optional<Loader> loader;
  static std::optional<Batch> kept;
  cuda_double::Reset();
  const TemporaryFolder folder;
  loader.emplace(Dataset::Open(WriteRawDataset(folder, 1000)), OptionsOn(0));
  EpochIterator it = loader->Epoch(0).begin();
  it->WaitOn(OnStream(nullptr));
  kept = *it;
  // Registered last, so it runs at exit before the loader's own handlers, and before the static
  // objects are destroyed.
  REQUIRE(std::atexit(&cuda_double::Unload) == 0);
}

TEST_CASE("The default stream is not waited on while a stream that it waits for is captured") {
  cuda_double::Reset();
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), OptionsOn(0));
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamDefault) == cudaSuccess);
  EpochIterator it = loader.Epoch(0).begin();
  it->WaitOn(OnStream(nullptr));
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  CHECK_THAT(ErrorText([&] { it->WaitOn(OnStream(nullptr)); }, ErrorCode::kState),
             Catch::Matchers::ContainsSubstring("captured"));
  ++it;  // drops the first batch, whose slot is released after the capture
  ++it;
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  for (int i = 0; i < 6; ++i) {
    it->WaitOn(OnStream(nullptr));
    ++it;
  }
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

namespace {

Gate* kernel_gate = nullptr;
std::array<std::uint8_t, 1920> kernel_found;

// A kernel of the trainer that waits at the gate and then reads a batch.
void LateKernel(Conversion job) {
  kernel_gate->Pass();
  std::memcpy(kernel_found.data(), job.table, kernel_found.size());
}

cudaError_t StartLateKernel(const Batch& batch, cudaStream_t stream) {
  Conversion job;
  job.table = batch.image().data;
  void* arguments[] = {&job};
  return cudaLaunchKernel(&LateKernel, dim3(1), dim3(1), arguments, 0, stream);
}

}  // namespace

TEST_CASE("A batch that a thread's own stream uses may be dropped by another thread") {
  const TemporaryFolder folder;
  std::atomic<int> copies = 0;
  cuda_double::Reset(1, [&copies](SimulatedDevice::Work work) {
    if (work == SimulatedDevice::Work::kCopy) ++copies;
  });
  LoaderOptions options = OptionsOn(0);
  options.ring.prefetch = 1;
  options.ring.hold = 0;
  std::promise<void> dropped;
  {
    Gate gate;
    kernel_gate = &gate;
    Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), options);
    EpochIterator it = loader.Epoch(0).begin();
    const auto expected = static_cast<std::uint8_t>(it->samples()[9] % 251);
    std::promise<void> started;
    std::thread trainer([&] {
      it->WaitOn(OnStream(cudaStreamPerThread));
      CHECK(StartLateKernel(*it, cudaStreamPerThread) == cudaSuccess);
      started.set_value();
      dropped.get_future().wait();
      CHECK(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
    });
    started.get_future().wait();
    for (int i = 0; i < 3; ++i)  // enough batches to use the first batch's memory again
      ++it;
    // A copy that wrongly did not wait would run within this time.
    for (int i = 0; i < 50 && copies <= 4; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(copies <= 4);  // pixels and labels of the first two
    gate.Open();
    dropped.set_value();
    trainer.join();
    CHECK(kernel_found[1919] == expected);
    for (int i = 0; i < 5; ++i)
      ++it;
  }
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  CHECK(cuda_double::Alive() == 0);
  cuda_double::Reset();
}

TEST_CASE("A thread's own stream may be captured while its batches are dropped") {
  cuda_double::Reset();
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), OptionsOn(0));
  EpochIterator it = loader.Epoch(0).begin();
  it->WaitOn(OnStream(cudaStreamPerThread));
  REQUIRE(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal) ==
          cudaSuccess);
  const auto ask = [&] {
    while (true)
      ++it;
  };
  CHECK_THAT(ErrorText(ask, ErrorCode::kState),
             Catch::Matchers::ContainsSubstring("End the capture"));
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(cudaStreamPerThread, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  for (int i = 0; i < 4; ++i)
    ++it;
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}

TEST_CASE("A thread's own stream is not waited for while another stream is captured") {
  cuda_double::Reset();
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), OptionsOn(0));
  EpochIterator it = loader.Epoch(0).begin();
  it->WaitOn(OnStream(cudaStreamPerThread));
  cudaStream_t stream = nullptr;  // the default stream waits for this one
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamDefault) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal) ==
          cudaSuccess);
  ++it;  // the first batch is dropped, and its slot released later
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(cudaStreamPerThread, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  const auto ask = [&] {
    while (true)
      ++it;
  };
  CHECK_THAT(ErrorText(ask, ErrorCode::kState),
             Catch::Matchers::ContainsSubstring("End the capture"));
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  for (int i = 0; i < 4; ++i)
    ++it;
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}

TEST_CASE("WaitOn() refuses a stream of another GPU, or of a context of its own") {
  cuda_double::Reset(2);
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), OptionsOn(0));
  EpochIterator it = loader.Epoch(0).begin();
  cudaStream_t elsewhere = nullptr, own = nullptr;
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  REQUIRE(cudaStreamCreateWithFlags(&elsewhere, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  const auto text_of = [&](cudaStream_t stream, ErrorCode code) {
    return ErrorText([&] { it->WaitOn(OnStream(stream)); }, code);
  };
  CHECK_THAT(text_of(elsewhere, ErrorCode::kInvalidArgument),
             Catch::Matchers::ContainsSubstring("belongs to another GPU"));
  {
    const cuda_double::OwnContext context(0);
    REQUIRE(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_THAT(text_of(own, ErrorCode::kInvalidArgument),
               Catch::Matchers::ContainsSubstring("cuCtxCreate"));
    for (cudaStream_t const stand_in : {cudaStream_t{nullptr}, cudaStreamPerThread}) {
      CHECK_THAT(text_of(stand_in, ErrorCode::kUnsupported),
                 Catch::Matchers::ContainsSubstring("cuDevicePrimaryCtxRetain"));
    }
    CHECK(cudaStreamDestroy(own) == cudaSuccess);
  }
  for (int i = 0; i < 6; ++i) {
    const cuda_double::OwnContext context(1);  // on a GPU that the loader does not use
    it->WaitOn(OnStream(nullptr));
    ++it;
  }
  CHECK(cudaStreamDestroy(elsewhere) == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}

TEST_CASE("A loader is refused if the thread works in a context of its own") {
  cuda_double::Reset();
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  {
    const cuda_double::OwnContext context(0);
    CHECK_THAT(ErrorText([&] { Loader(dataset, OptionsOn(0)); }, ErrorCode::kUnsupported),
               Catch::Matchers::ContainsSubstring("cuCtxCreate"));
  }
  CHECK(cuda_double::Alive() == 0);
}

TEST_CASE("The simulated captures refuse the calls that a loader avoids") {
  // Checks the simulation itself: otherwise the other tests would prove nothing.
  cuda_double::Reset();
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  void* memory = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  for (const cudaStreamCaptureMode mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
    REQUIRE(cudaStreamBeginCapture(stream, mode) == cudaSuccess);
    std::thread other([&] {
      const bool refused = mode == cudaStreamCaptureModeGlobal;
      if (cudaMalloc(&memory, 16) == cudaSuccess) cudaFree(memory);
      CHECK((cudaPeekAtLastError() == cudaErrorStreamCaptureUnsupported) == refused);
    });
    other.join();
    const cudaError_t end = cudaStreamEndCapture(stream, &graph);
    CHECK((end == cudaErrorStreamCaptureInvalidated) == (mode == cudaStreamCaptureModeGlobal));
    if (end == cudaSuccess) CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  }
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}
