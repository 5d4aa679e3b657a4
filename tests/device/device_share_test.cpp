// Loaders that share decoding between the host and a device (DecodeOn::kAuto): batches equal the
// host's for any share, and a slow device gets less.
//
// Nothing here depends on how fast the machine is: the device is slow by construction, and the
// tests wait for the changes that must come.
#include <atomic>

#include "reader/batch/loader_device.h"
#include "tests/device/device_decoding.h"

using namespace sluice;
using namespace sluice::test;

namespace {

LoaderOptions SharingOptions(const Trainer& trainer, unsigned threads) {
  LoaderOptions options = DeviceOptions(trainer, 8, threads);
  options.on_device.decode = DecodeOn::kAuto;
  options.transform = {RandomResizedCrop(24), HorizontalFlip(), Normalize{kMeans, kDeviations}};
  return options;
}

}  // namespace

TEST_CASE("A device that shares decoding begins with a half, and batches equal the host's") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 46, StoredForm()));
  Trainer trainer;
  for (const unsigned threads : {0U, 1U, 3U}) {
    const std::uint64_t decoded = CheckSame(dataset, SharingOptions(trainer, threads));
    CHECK(decoded >= 40);
    CHECK(decoded <= 46 + 40);  // together with batches ahead
  }
  Loader loader(dataset, SharingOptions(trainer, 2));
  CHECK(loader.Stats().device_share == 0.5);
  CHECK_THAT(loader.Describe(), Catch::Matchers::ContainsSubstring("the loader divides them"));
}

TEST_CASE("A device gets the last rows of a batch, and its exact share over several batches") {
  constexpr unsigned kParts = DeviceShare::kParts;
  for (const std::size_t size : {1U, 7U, 8U, 256U}) {
    for (const unsigned parts : {0U, 1U, 13U, 32U, 63U, kParts}) {
      const DeviceShare share{parts};
      std::size_t offered = 0;
      for (std::uint64_t batch = 0; batch < kParts; ++batch) {
        for (std::size_t row = 0; row < size; ++row) {
          if (share.Offers(batch, size, row)) ++offered;
          if (row > 0 && share.Offers(batch, size, row - 1))
            REQUIRE(share.Offers(batch, size, row));
        }
        CAPTURE(size, parts, batch);
        REQUIRE(offered == (batch + 1) * size * parts / kParts);
      }
    }
  }
}

TEST_CASE("The host's part of a batch that it shares with a device is copied at once") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 64, StoredForm()));
  std::atomic<std::size_t> copies = 0;
  Trainer trainer([&copies](SimulatedDevice::Work work) {
    if (work == SimulatedDevice::Work::kCopy) ++copies;
  });
  LoaderOptions options = SharingOptions(trainer, 0);
  options.batch_size = 16;
  Loader loader(dataset, options);
  Play(loader, 0, {"image"});  // copies of four batches: pixels, compressed rows, the rest
  CHECK(copies >= 4 * 3);
  CHECK(copies <= 4 * 5);  // some pictures may not fit into a slot, and are decoded by the host
}

TEST_CASE("A slow device is offered less, and batches stay the host's") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 80, StoredForm()));
  Trainer trainer([](SimulatedDevice::Work work) {
    if (work == SimulatedDevice::Work::kDecode)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  LoaderOptions options = SharingOptions(trainer, 2);
  LoaderOptions host = options;
  host.device = Device();
  host.on_device.decode = DecodeOn::kHost;
  Loader expected(dataset, host), loader(dataset, options);
  std::uint64_t epoch = 0;
  for (; loader.Stats().device_share >= 0.5; ++epoch)
    Play(loader, epoch, {"image"});
  CHECK(loader.Stats().device_decode_seconds > 0);
  CHECK(loader.Stats().changes > 0);
  REQUIRE(Play(loader, epoch, {"image"}) == Play(expected, epoch, {"image"}));
}

TEST_CASE("A single thread continues to decode while the device has not finished a batch") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 24, StoredForm()));
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < dataset.size(); ++i)
    bytes += dataset[i].Payload().bytes.size();
  Gate gate;
  Trainer trainer([&gate](SimulatedDevice::Work work) {
    if (work == SimulatedDevice::Work::kDecode) gate.Pass();
  });
  LoaderOptions options = DecodingOptions(trainer, 6, 1);
  options.ring.prefetch = 4;
  options.transform = {RandomResizedCrop(24), Normalize{kMeans, kDeviations}};
  Loader loader(dataset, options);
  const GateOpener opener{gate};
  auto epoch = loader.Epoch(0);
  while (loader.Stats().payload_bytes < bytes)  // until all four batches are read
    std::this_thread::yield();
  CHECK(loader.Stats().device_pictures == 0);
  gate.Open();
  std::size_t samples = 0;
  for (const Batch& batch : epoch) {
    batch.Synchronize();
    samples += batch.size();
  }
  CHECK(samples == 24);
}

TEST_CASE("Sharing is refused where device decoding is, and for pictures stored on a device") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 8, StoredForm()));
  Trainer trainer;
  const auto refuses = [&](const LoaderOptions& options, const char* what) {
    CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
               Catch::Matchers::ContainsSubstring(what));
  };
  LoaderOptions options = SharingOptions(trainer, 2);
  options.device = Device();
  refuses(options, "kAuto needs a device");
  options = SharingOptions(trainer, 2);
  options.on_device.images = ImagesIn::kDevice;
  refuses(options, "decode = kDevice");
}

TEST_CASE("If a device can decode nothing, no memory is counted for decoding again on the host") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 10, 2);
  const LoaderMemory host = Loader(dataset, options).Memory();
  options.on_device.decode = DecodeOn::kDevice;
  Loader loader(dataset, options);
  CHECK(loader.Memory().scratch == host.scratch);
  CHECK(loader.Stats().device_share == 0);
}
