// Loaders whose device finds all pictures in its memory (OnDevice::images): their batches equal the
// host's, and storage is no longer read.
#include <fstream>
#include <thread>

#include "tests/device/device_decoding.h"
#include "tests/file_content.h"

using namespace sluice;
using namespace sluice::test;

namespace {

LoaderOptions StoredOptions(const Trainer& trainer, std::size_t batch_size = 6,
                            unsigned threads = 2) {
  LoaderOptions options = DecodingOptions(trainer, batch_size, threads);
  options.on_device.images = ImagesIn::kDevice;
  return options;
}

// Waits until that many pictures are stored where the device reads them.
void AwaitStored(const Loader& loader, std::uint64_t pictures) {
  while (loader.Stats().stored_pictures < pictures)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Compares three epochs with the host's. The first plays while pictures are still being stored; in
// the end, `pictures` of them are.
void CheckStored(const Dataset& dataset, const LoaderOptions& options, std::uint64_t pictures,
                 const std::vector<std::string>& names = {"image"}) {
  Loader expected(dataset, OptionsOnHost(options)), loader(dataset, options);
  REQUIRE(Play(loader, 0, names) == Play(expected, 0, names));
  AwaitStored(loader, pictures);
  REQUIRE(loader.Stats().stored_pictures == pictures);
  for (const std::uint64_t epoch : {1U, 2U})
    REQUIRE(Play(loader, epoch, names) == Play(expected, epoch, names));
}

// Raw pictures of side x side pixels; unless they have `one_size`, most are up to 4 pixels wider.
std::filesystem::path WritePixels(const TemporaryFolder& folder, int count, std::uint32_t side,
                                  std::uint32_t channels, bool one_size) {
  const std::filesystem::path path = folder / "pixels";
  DatasetWriter writer(path, {{Field::Image(), Field::Label("label")}}, {"pixels", 1'000'000, 4});
  for (int i = 0; i < count; ++i) {
    const auto n = static_cast<std::uint32_t>(i);
    const Picture picture = MakePicture(side + (one_size ? 0 : n % 5), side, channels, n);
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    sample.SetPixels("image", picture.width, picture.height, channels, PixelType::kUint8,
                     std::as_bytes(std::span(picture.pixels)));
    sample.Set<std::int32_t>("label", i);
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

// Writes zeros over each picture of a dataset of one shard.
void EraseJpegs(const std::filesystem::path& dataset) {
  const std::filesystem::path shard = dataset / "shard-00000.sluice";
  std::string bytes = ContentOf(shard);
  const std::string begin = "\xFF\xD8\xFF\xE0", end = "\xFF\xD9";
  for (std::size_t at = bytes.find(begin); at != std::string::npos; at = bytes.find(begin, at)) {
    const std::size_t last = bytes.find(end, at);
    bytes.replace(at, last - at, last - at, '\0');
  }
  std::fstream(shard, std::ios::binary | std::ios::in | std::ios::out) << bytes;
}

}  // namespace

TEST_CASE("Stored JPEGs give the host's batches, from every kind of storage") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 46, StoredForm()));
  for (const unsigned threads : {0U, 1U, 3U}) {
    Trainer trainer;
    LoaderOptions options = StoredOptions(trainer, 6, threads);
    if (threads == 3) options.storage = Direct{};
    options.transform = {RandomResizedCrop(24), HorizontalFlip(), ColorJitter{.4, .4, .4, .1},
                         Normalize{kMeans, kDeviations, FloatType::kFloat16}};
    options.views = {{"plain", {CenterCrop(12)}, {}}};
    CheckStored(dataset, options, 46, {"image", "plain"});
  }
}

TEST_CASE("Packed pictures are stored for a device, too, next to JPEGs of several samplings") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "packed";
  DatasetWriter writer(path, {{Field::Image(), Field::Label("label")}}, {"packed", 1'000'000, 4});
  for (int i = 0; i < 41; ++i) {
    SampleBuilder sample = writer.NewSample("photo-" + std::to_string(i));
    const auto n = static_cast<std::uint32_t>(i);
    JpegOptions form = StoredForm();
    form.subsample = i % 3 != 0;
    form.quality = 60 + i % 4 * 10;
    const auto file = MakeJpeg(MakePicture(80 + n % 17, 60 + n % 23, 3, n), form);
    if (i % 4 == 3) {
      sample.SetJpeg("image", file);
    } else {
      REQUIRE(sample.SetPacked("image", file));
    }
    sample.Set<std::int32_t>("label", i);
    writer.Add(sample);
  }
  writer.Finish();
  const Dataset dataset = Dataset::Open(path);
  Trainer trainer;
  LoaderOptions options = StoredOptions(trainer);
  for (const unsigned channels : {1U, 3U}) {
    options.output.channels = channels;
    for (const Pipeline& steps :
         {Pipeline{RandomResizedCrop(24), HorizontalFlip()}, Pipeline{Resize(70, 50)}}) {
      options.transform = steps;
      CheckStored(dataset, options, 41);
    }
  }
}

TEST_CASE("Raw pictures stored for a device are cropped, padded and resized there") {
  const bool one_size = GENERATE(true, false);
  for (const std::uint32_t channels : {1U, 3U}) {
    const TemporaryFolder folder;
    const Dataset dataset = Dataset::Open(WritePixels(folder, 45, 32, channels, one_size));
    Trainer trainer;
    LoaderOptions options = StoredOptions(trainer);
    const std::vector<float> half(channels, 0.5F);
    for (const Pipeline& steps :
         {Pipeline{RandomCrop(32, 4), HorizontalFlip(), Normalize{half, half}},
          Pipeline{RandomCrop(28, 3, Border::kReflect), VerticalFlip()},
          Pipeline{RandomResizedCrop(24)}, Pipeline{Resize(40, 17), RandomErasing{}}}) {
      options.transform = steps;
      options.output.layout = steps.size() > 1 ? Layout::kNCHW : Layout::kNHWC;
      CheckStored(dataset, options, 45);
    }
  }
}

TEST_CASE(
    "Once pictures are stored for a device, no byte of them is read from storage or sent again") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteJpegDataset(folder, 46, StoredForm());
  const Dataset dataset = Dataset::Open(path);
  Trainer trainer;
  LoaderOptions options = StoredOptions(trainer, 6, 0);
  options.transform = {Resize(24, 24)};
  Loader expected(dataset, OptionsOnHost(options));
  const std::vector<Seen> second = Play(expected, 1, {"image"});
  Loader loader(dataset, options);
  AwaitStored(loader, 46);
  const std::uint64_t stored = loader.Stats().stored_bytes;
  CHECK(stored > 46 * 1000);
  EraseJpegs(path);  // nothing below needs them
  REQUIRE(Play(loader, 1, {"image"}) == second);
  const LoaderStats stats = loader.Stats();
  CHECK(stats.payload_bytes == 0);
  CHECK(stats.device_pictures == 46);
  // Labels, and weights for 24 columns and 24 lines of each image, but not the pictures.
  CHECK(stats.upload_bytes < 46 * 3000);
}

TEST_CASE(
    "Pictures that a device cannot decode are left to the host, and faults are found as without a "
    "device") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteForms(folder, 40, [](int i) {
    JpegOptions form = StoredForm();
    form.progressive = i % 4 == 1;
    if (i % 8 == 2) form.restart_rows = 0;
    return form;
  });
  std::string bytes = ContentOf(path / "shard-00000.sluice");
  const std::string begin = "\xFF\xD8\xFF\xE0";
  bytes[bytes.find(begin) + 800] ^= 1;  // the first picture's checksum does not match now
  std::ofstream(path / "shard-00000.sluice", std::ios::binary | std::ios::trunc) << bytes;
  const Dataset dataset = Dataset::Open(path);
  Trainer trainer;
  LoaderOptions options = StoredOptions(trainer);
  options.transform = {RandomResizedCrop(24), Normalize{kMeans, kDeviations}};
  // Not stored: 10 progressive pictures, 5 without restart markers, and the faulty one.
  for (const OnFault on_fault : {OnFault::kSkip, OnFault::kSubstitute}) {
    options.integrity.on_fault = on_fault;
    CheckStored(dataset, options, 40 - 10 - 5 - 1);
  }
  options.storage = Direct{};
  CheckStored(dataset, options, 40 - 10 - 5 - 1);
  options.integrity.on_fault = OnFault::kError;
  Loader loader(dataset, options);
  AwaitStored(loader, 24);
  CHECK_THAT(ErrorText([&] { Play(loader, 1, {"image"}); }, ErrorCode::kCorrupt),
             Catch::Matchers::ContainsSubstring("photo-0"));
}

TEST_CASE("Only a list's samples are stored for a device") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 46, StoredForm()));
  Trainer trainer;
  LoaderOptions options = StoredOptions(trainer, 3);
  options.transform = {Resize(24, 24)};
  options.order.samples = SampleList::Of({3, 44, 5, 5, 20, 21, 9});
  CheckStored(dataset, options, 6);
}

TEST_CASE("A loader that is dropped while its pictures are being stored stops at once") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 46, StoredForm()));
  Trainer trainer([](SimulatedDevice::Work work) {
    if (work == SimulatedDevice::Work::kCopy)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  });
  const std::size_t before = trainer.device->Alive();
  for (int i = 0; i < 20; ++i) {
    LoaderOptions options = StoredOptions(trainer);
    options.transform = {Resize(24, 24)};
    Loader loader(dataset, options);
    if (i % 2 == 1) Play(loader, 0, {"image"}, 1);
  }
  CHECK(trainer.device->Alive() == before);
}

TEST_CASE("A device without room for the dataset is refused, with both sizes") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 46, StoredForm()));
  Trainer trainer;
  trainer.device->SetMemory(trainer.device->DeviceBytes() + 30'000'000);
  LoaderOptions options = StoredOptions(trainer, 2);
  options.transform = {Resize(24, 24)};
  { const Loader fits(dataset, options); }
  trainer.device->SetMemory(0);
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kLimit),
             Catch::Matchers::ContainsSubstring("images take 1 MB") &&
                 Catch::Matchers::ContainsSubstring("0 MB of memory left") &&
                 Catch::Matchers::ContainsSubstring("kStorage"));
}

TEST_CASE("A loader states the memory of its stored pictures, and where they are") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 40, StoredForm()));
  Trainer trainer;
  const std::size_t before = trainer.device->DeviceBytes();
  LoaderOptions options = StoredOptions(trainer);
  options.transform = {RandomResizedCrop(24)};
  Loader loader(dataset, options);
  AwaitStored(loader, 40);
  CHECK(loader.Memory().device == trainer.device->DeviceBytes() - before);
  const std::uint64_t bytes = loader.Stats().stored_bytes;
  CHECK(bytes <= loader.Memory().device);
  CHECK(loader.Memory().images > 40 * 24);
  CHECK(loader.Memory().own() > loader.Memory().images);
  CHECK_THAT(loader.Describe(), Catch::Matchers::ContainsSubstring("first epoch plays"));
}

TEST_CASE("Pictures are stored for a device only if it decodes") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 8, StoredForm()));
  Trainer trainer;
  LoaderOptions options = StoredOptions(trainer);
  options.transform = {Resize(24, 24)};
  LoaderOptions other = options;
  other.on_device.decode = DecodeOn::kHost;
  CHECK_THAT(ErrorText([&] { Loader(dataset, other); }, ErrorCode::kInvalidArgument),
             Catch::Matchers::ContainsSubstring("decode = kDevice"));
  other = options;
  other.stage = Stage{folder / "stage", 1'000'000};
  CHECK_THAT(ErrorText([&] { Loader(dataset, other); }, ErrorCode::kInvalidArgument),
             Catch::Matchers::ContainsSubstring("LoaderOptions::stage"));
}
