// The order of copies, kernels and the reuse of slots in the ring, whatever is slow.
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tests/device/trainer.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// About half of the device's work waits for up to 100 microseconds before it begins.
SimulatedDevice::Before Unsteady(unsigned seed) {
  auto random = std::make_shared<std::mt19937>(seed);
  auto mutex = std::make_shared<std::mutex>();
  return [random, mutex](SimulatedDevice::Work) {
    unsigned wait = 0;
    {
      const std::lock_guard lock(*mutex);
      wait = (*random)() % 200;
    }
    if (wait < 100) std::this_thread::sleep_for(std::chrono::microseconds(wait));
  };
}

}  // namespace

TEST_CASE("A kernel finds its batch complete, however late copies and kernels run") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 205));
  for (unsigned round = 0; round < 4; ++round) {
    Trainer trainer(Unsteady(round));
    LoaderOptions options = DeviceOptions(trainer, 10, 1 + round % 3);
    options.ring.prefetch = 1 + round % 2;
    options.ring.hold = round % 3;
    Loader loader(dataset, options);
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      for (const Batch& batch : loader.Epoch(epoch))
        trainer.Read(batch);
    }
    REQUIRE(trainer.seen().size() == 42);
    FinishWhole(trainer);
  }
}

TEST_CASE("A batch is handed over before it is copied, and no thread of the host waits") {
  const TemporaryFolder folder;
  Gate gate;
  Trainer trainer([&gate](SimulatedDevice::Work work) {
    if (work == SimulatedDevice::Work::kCopy) gate.Pass();
  });
  const GateOpener opener{gate};
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), DeviceOptions(trainer));
  std::size_t batches = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    trainer.Read(batch);
    if (++batches == 4) break;  // the whole ring: it is delivered, though no copy has run
  }
  for (const Trainer::Seen& seen : trainer.seen())
    CHECK(seen.samples.size() == 10);
  gate.Open();
  FinishWhole(trainer);
}

TEST_CASE("A slot is reused when its batch is dropped and the kernels that read it are done") {
  const TemporaryFolder folder;
  Gate gate;
  Trainer trainer;
  const GateOpener opener{gate};
  LoaderOptions options = DeviceOptions(trainer);
  options.ring.prefetch = 1;
  options.ring.hold = 1;  // three slots
  Loader loader(Dataset::Open(WriteRawDataset(folder, 200)), options);
  std::size_t batches = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    // The first kernel is slow. Its batch is dropped at once, and the slot is reused: the copy into
    // it waits for the kernel, but this thread does not.
    trainer.Read(batch, batches == 0 ? [&gate] { gate.Pass(); } : std::function<void()>());
    if (++batches == 6) break;
  }
  gate.Open();
  REQUIRE(trainer.seen().size() == 6);
  FinishWhole(trainer);
}

TEST_CASE("No stream of the loader waits for a trainer that is only a little behind") {
  const TemporaryFolder folder;
  std::atomic<std::thread::id> trains{};
  std::atomic<int> waits = 0;
  Trainer trainer([&](SimulatedDevice::Work work) {
    if (work == SimulatedDevice::Work::kWait && std::this_thread::get_id() != trains) ++waits;
  });
  trainer.device->Run(trainer.stream, [&trains] { trains = std::this_thread::get_id(); });
  trainer.Finish();
  LoaderOptions options = DeviceOptions(trainer);
  options.ring.prefetch = 2;
  options.ring.hold = 0;  // three slots
  Loader loader(Dataset::Open(WriteRawDataset(folder, 400)), options);
  for (const Batch& batch : loader.Epoch(0))
    trainer.Read(batch, [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
  FinishWhole(trainer);
  REQUIRE(trainer.seen().size() == 40);
  CHECK(waits < 10);  // none, unless this machine stops for a quarter of a second
}

TEST_CASE("A batch that several streams use is kept until the last of them is done") {
  const TemporaryFolder folder;
  Gate gate;
  Trainer trainer;
  const GateOpener opener{gate};
  DeviceDriver::Stream const other = trainer.device->NewStream();
  LoaderOptions options = DeviceOptions(trainer);
  options.ring.prefetch = 1;
  options.ring.hold = 0;
  std::vector<std::vector<std::uint8_t>> found(5);
  std::vector<std::uint8_t> expected;
  {
    Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), options);
    for (const Batch& batch : loader.Epoch(0)) {
      if (batch.index() == 4) break;
      trainer.Read(batch);
      batch.WaitOn({other});
      batch.WaitOn({other});  // twice counts once
      const ImageBatch image = batch.image();
      std::vector<std::uint8_t>& into = found[batch.index()];
      expected.push_back(static_cast<std::uint8_t>(batch.samples()[9] % 251));
      trainer.device->Run(other, [image, &into, &gate] {
        gate.Pass();
        into.assign(image.data, image.data + 1920);
      });
      if (batch.index() == 1) gate.Open();
    }
    trainer.device->Drain(other);
    trainer.Finish();
  }
  trainer.device->FreeStream(other);
  for (const Trainer::Seen& seen : trainer.seen())
    RequireWhole(seen);
  for (std::size_t b = 0; b < 4; ++b)
    CHECK(found[b][1919] == expected[b]);
}

TEST_CASE("Batches that are held stay as they are on the device, and one too many is an error") {
  const TemporaryFolder folder;
  Trainer trainer(Unsteady(5));
  LoaderOptions options = DeviceOptions(trainer);
  options.ring.prefetch = 2;
  options.ring.hold = 2;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 200)), options);
  std::vector<Batch> held;
  const std::string text = ErrorText(
      [&] {
        for (const Batch& batch : loader.Epoch(0))
          held.push_back(batch);
      },
      ErrorCode::kState);
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("LoaderOptions::ring.hold"));
  REQUIRE(held.size() == 5);
  for (const Batch& batch : held)
    trainer.Read(batch);
  held.clear();
  for (const Batch& batch : loader.Epoch(1))
    trainer.Read(batch);
  REQUIRE(trainer.seen().size() == 25);
  FinishWhole(trainer);
}

TEST_CASE("An epoch left in the middle gives its slots back, with copies under way") {
  const TemporaryFolder folder;
  Trainer trainer(Unsteady(9));
  Loader loader(Dataset::Open(WriteRawDataset(folder, 300)), DeviceOptions(trainer, 10, 3));
  for (std::uint64_t round = 0; round < 40; ++round) {
    std::uint64_t seen = 0;
    for (const Batch& batch : loader.Epoch(round * 7 % 5)) {
      REQUIRE(batch.index() == seen);
      if (round % 3 != 0) trainer.Read(batch);  // otherwise dropped unread
      if (++seen > round % 7) break;
    }
  }
  FinishWhole(trainer);
}

TEST_CASE("The calling thread can wait for a batch, too") {
  const TemporaryFolder folder;
  Trainer trainer(Unsteady(3));
  Loader loader(Dataset::Open(WriteRawDataset(folder, 50)), DeviceOptions(trainer));
  for (const Batch& batch : loader.Epoch(0)) {
    batch.Synchronize();
    for (std::size_t row = 0; row < 10; ++row)
      REQUIRE(batch.image().data[row * 192 + 191] == batch.samples()[row] % 251);
  }
}

TEST_CASE("WaitOn() refuses a captured stream, and batches may be dropped during the capture") {
  const TemporaryFolder folder;
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer);
  options.ring.prefetch = 1;
  options.ring.hold = 1;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  Loader loader(dataset, options);
  EpochIterator it = loader.Epoch(0).begin();
  trainer.Read(*it);
  trainer.device->SetCapturing(trainer.stream, true);
  CHECK_THAT(ErrorText([&] { it->WaitOn({trainer.stream}); }, ErrorCode::kState),
             Catch::Matchers::ContainsSubstring("captured"));
  // Two more batches come meanwhile. The first one's slot is reclaimed when the capture has ended.
  ++it;
  ++it;
  trainer.device->SetCapturing(trainer.stream, false);
  for (int i = 0; i < 5; ++i)
    ++it;
  trainer.Read(*it);
  FinishWhole(trainer);

  Loader dropped(dataset, options);
  {
    EpochIterator of_dropped = dropped.Epoch(0).begin();
    of_dropped->WaitOn({trainer.stream});
    trainer.device->SetCapturing(trainer.stream, true);
    ++of_dropped;
  }
  dropped = Loader(dataset, options);  // during the capture
  trainer.device->SetCapturing(trainer.stream, false);
}

TEST_CASE("A thread that captures and asks for more batches than the ring has gets an error") {
  const TemporaryFolder folder;
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer);
  options.ring.prefetch = 1;
  options.ring.hold = 1;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), options);
  EpochIterator it = loader.Epoch(0).begin();
  std::uint64_t next = 0;
  const auto ask = [&] {
    ++it;
    REQUIRE(it->index() == ++next);  // the error loses no batch
  };
  for (int round = 0; round < 2; ++round) {
    it->WaitOn({trainer.stream});
    trainer.device->SetCapturing(trainer.stream, true);
    const auto ask_on = [&] {
      while (true)
        ask();
    };
    CHECK_THAT(ErrorText(ask_on, ErrorCode::kState),
               Catch::Matchers::ContainsSubstring("End the capture"));
    trainer.device->SetCapturing(trainer.stream, false);
    ask();
  }
}

TEST_CASE("A thread that asks for a batch while another one captures waits for the capture's end") {
  const TemporaryFolder folder;
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer);
  options.ring.prefetch = 1;
  options.ring.hold = 0;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), options);
  EpochIterator it = loader.Epoch(0).begin();
  it->WaitOn({trainer.stream});
  trainer.device->SetCapturing(trainer.stream, true);
  std::uint64_t last = 0;
  std::thread asking([&] {
    for (; it->index() < 9; ++it)
      last = it->index() + 1;
  });
  trainer.device->SetCapturing(trainer.stream, false);
  asking.join();
  CHECK(last == 9);
}

TEST_CASE("WaitOn() refuses a stream of another device") {
  const TemporaryFolder folder;
  Trainer trainer, other;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), DeviceOptions(trainer));
  for (const Batch& batch : loader.Epoch(0)) {
    ErrorText([&] { batch.WaitOn({other.stream}); }, ErrorCode::kInvalidArgument);
    trainer.Read(batch);
  }
  trainer.Finish();
  REQUIRE(trainer.seen().size() == 10);
}

TEST_CASE("Several loaders share a device without sharing anything else") {
  const TemporaryFolder folder;
  Trainer trainer(Unsteady(1));
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  Loader a(dataset, DeviceOptions(trainer, 10));
  Loader b(dataset, DeviceOptions(trainer, 25));
  for (const Batch& from_a : a.Epoch(0)) {
    trainer.Read(from_a);
    if (from_a.index() % 3 != 0) continue;
    for (const Batch& from_b : b.Epoch(from_a.index()))
      trainer.Read(from_b);
  }
  REQUIRE(trainer.seen().size() == 10 + 4 * 4);
  FinishWhole(trainer);
}
