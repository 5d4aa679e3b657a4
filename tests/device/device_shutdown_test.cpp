// All ways to end a loader on a device: everything is given back, and no memory is freed while a
// stream uses it.
#include <optional>
#include <stdexcept>
#include <thread>

#include "tests/device/trainer.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("A loader can be dropped while copies are under way, and leaves nothing on the device") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  for (int round = 0; round < 12; ++round) {
    Gate gate;
    Trainer trainer([&gate](SimulatedDevice::Work work) {
      if (work == SimulatedDevice::Work::kCopy) gate.Pass();
    });
    const GateOpener opener{gate};
    std::optional<Loader> loader(std::in_place, dataset, DeviceOptions(trainer));
    int batches = 0;
    for (const Batch& batch : loader->Epoch(0)) {
      if (batches++ == round % 4) break;
      if (round % 2 == 0) trainer.Read(batch);
    }
    std::thread later([&gate] { gate.Open(); });
    loader.reset();
    later.join();
    CHECK(trainer.device->Alive() == 1);  // the trainer's stream
    FinishWhole(trainer);
  }
}

TEST_CASE("A loader that is never played leaves nothing on the device") {
  const TemporaryFolder folder;
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer);
  options.transform = {Normalize{}};
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  { const Loader loader(dataset, options); }
  CHECK(trainer.device->Alive() == 1);
}

TEST_CASE("A batch on a device outlives its loader, and its slot lasts until kernels are done") {
  const TemporaryFolder folder;
  Gate gate;
  Trainer trainer;
  const GateOpener opener{gate};
  std::optional<Batch> kept;
  {
    Loader loader(Dataset::Open(WriteRawDataset(folder, 50)), DeviceOptions(trainer));
    for (const Batch& batch : loader.Epoch(0))
      if (batch.index() == 2) kept = batch;
  }
  trainer.Read(*kept, [&gate] { gate.Pass(); });
  CHECK(trainer.device->Alive() > 1);
  std::thread later([&gate] { gate.Open(); });
  kept.reset();  // waits for the kernel, because the memory is freed now
  later.join();
  CHECK(trainer.device->Alive() == 1);
  trainer.Finish();
  RequireWhole(trainer.seen()[0]);
}

TEST_CASE("An exception in a trainer on a device leaves nothing behind") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  Trainer trainer;
  for (int round = 0; round < 10; ++round) {
    try {
      Loader loader(dataset, DeviceOptions(trainer, 10, 3));
      for (const Batch& batch : loader.Epoch(0)) {
        trainer.Read(batch);
        if (batch.index() == 2) throw std::runtime_error("the trainer failed");
      }
      FAIL("not reached");
    } catch (const std::runtime_error& error) {
      REQUIRE(std::string(error.what()) == "the trainer failed");
    }
    REQUIRE(trainer.device->Alive() == 1);
  }
  FinishWhole(trainer);
}

TEST_CASE("If a device fails, the next batches throw an error with the reason, and do not hang") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 1000));
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer);
  {
    Loader loader(dataset, options);
    const auto play = [&] {
      for (const Batch& batch : loader.Epoch(0)) {
        REQUIRE(batch.size() == 10);
        if (batch.index() == 3) trainer.device->Break("the device has fallen off the bus");
      }
    };
    CHECK_THAT(ErrorText(play, ErrorCode::kState),
               Catch::Matchers::ContainsSubstring("fallen off the bus"));
    ErrorText([&] { Loader(dataset, options); }, ErrorCode::kState);
    trainer.device->Break("");
    for (const Batch& batch : loader.Epoch(1))
      trainer.Read(batch);
    trainer.Finish();
  }
  REQUIRE(trainer.seen().size() == 100);
  for (const Trainer::Seen& seen : trainer.seen())
    RequireWhole(seen);
  CHECK(trainer.device->Alive() == 1);
}

TEST_CASE("A sample that cannot be read fails its batch on a device as on the host") {
  const TemporaryFolder folder;
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer);
  options.order.shuffle = Shuffle::kSequential;
  options.sample_function = [](MutableSample& sample) {
    if (sample.Field<std::int32_t>("label")[0] == 7) throw std::runtime_error("seven");
  };
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  Loader strict(dataset, options);
  CHECK_THAT(ErrorText([&] { PlayBatches(strict, 0); }, ErrorCode::kState),
             Catch::Matchers::ContainsSubstring("seven"));
  options.integrity.on_fault = OnFault::kSkip;
  Loader skipping(dataset, options);
  for (const Batch& batch : skipping.Epoch(0)) {
    REQUIRE(batch.size() == 9);
    trainer.Read(batch);
  }
  FinishWhole(trainer);
}
