// Stopping a loader at once, in any state, and making another one afterwards.
#include <atomic>
#include <fstream>
#include <thread>

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/loader/loader_state.h"
#include "tests/reader/in_child.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// Copies of one picture whose file is so large that threads take them one at a time.
std::filesystem::path WriteLargePictures(const TemporaryFolder& folder, int count) {
  const std::filesystem::path path = folder / "large";
  DatasetWriter writer(path, {{Field::Image()}}, {"large", 8'000'000, 4});
  JpegOptions kind;
  kind.quality = 98;
  kind.subsample = false;
  const std::vector<std::byte> file = MakeJpeg(MakePicture(240, 240), kind);
  REQUIRE(file.size() > 32'768);
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample(std::to_string(i));
    sample.SetJpeg("image", file);
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

}  // namespace

TEST_CASE("Stopping finishes only the samples being decoded") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargePictures(folder, 60));
  const std::uint64_t bytes = dataset.images()[0].max_payload_bytes;
  for (const unsigned threads : {1U, 2U, 5U}) {
    for (int batches = 0; batches < 4; ++batches) {
      LoaderOptions options = OptionsFor(10, threads);
      options.ring.prefetch = 3;
      const auto state = std::make_shared<LoaderState>(dataset, options);
      const std::uint64_t range = state->StartEpoch(0);
      for (int b = 0; b < batches; ++b)
        REQUIRE(state->Next(range).size() == 10);
      state->Stop();
      const std::uint64_t after = state->Stats().payload_bytes - state->payload_bytes_at_stop();
      CHECK(after <= threads * bytes);
      ErrorText([&] { state->Next(range); }, ErrorCode::kState);
    }
  }
}

TEST_CASE("A loader can be destroyed while its consumer waits for a batch") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 2000));
  for (int round = 0; round < 30; ++round) {
    LoaderOptions options = OptionsFor(4, 1 + static_cast<unsigned>(round) % 3);
    options.ring.prefetch = 1;
    std::optional<Loader> loader(std::in_place, dataset, options);
    const EpochRange range = loader->Epoch(0);
    std::atomic<bool> first{false};
    std::atomic<bool> good{false};
    std::thread consumer([&] {
      try {
        for (const Batch& batch : range)
          first.store(batch.size() > 0);
        good.store(true);  // the consumer was faster
      } catch (const Error& error) {
        good.store(error.code() == ErrorCode::kState);
        first.store(true);
      }
    });
    while (!first.load())
      std::this_thread::yield();
    loader.reset();
    consumer.join();
    REQUIRE(good.load());
  }
}

TEST_CASE("A process can fork before it makes a loader, or after one has gone") {
  if (!kForks) {
    WARN("skipped under the thread sanitizer");
    return;
  }
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 200));
  const auto play = [&] {
    Loader loader(dataset, OptionsFor(16, 3));
    return SamplesOf(PlayBatches(loader, 0)).size() == 200;
  };
  REQUIRE(InChild(play) == 0);
  REQUIRE(play());
  REQUIRE(InChild(play) == 0);
}

TEST_CASE("By default a loader has as many threads as this thread may use CPUs") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  unsigned threads = 0;
  std::thread narrow([&] {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(sched_getcpu(), &mine);
    if (sched_setaffinity(0, sizeof mine, &mine) != 0) return;  // then there is nothing to test
    threads = Loader(dataset, OptionsFor(10, {})).threads();
  });
  narrow.join();
  REQUIRE(threads <= 1);
}

TEST_CASE("A control group's CPU quota counts, too") {
  const std::string group = "/sys/fs/cgroup/cpu/sluice-test-" + std::to_string(getpid());
  if (!kForks || mkdir(group.c_str(), 0755) != 0) {
    WARN("skipped: this process may not make a control group");
    return;
  }
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  const auto put = [&](const char* file, long value) {
    std::ofstream out(group + "/" + file);
    out << value << std::flush;
    return out.good();
  };
  const bool limited = put("cpu.cfs_period_us", 100'000) && put("cpu.cfs_quota_us", 70'000);
  // Also passes if this process may create a group but not move a process into it.
  const int result = InChild([&] {
    return !put("cgroup.procs", getpid()) || Loader(dataset, OptionsFor(10, {})).threads() == 1;
  });
  rmdir(group.c_str());
  if (limited) CHECK(result == 0);
}
