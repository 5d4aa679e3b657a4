// Batches on a device equal the host's batches to the bit.
#include <algorithm>
#include <map>

#include "tests/device/trainer.h"

using namespace sluice;
using namespace sluice::test;

namespace {

std::vector<PlayedBatch> OnHost(const Dataset& dataset, LoaderOptions options) {
  options.device = Device();
  Loader loader(dataset, options);
  return PlayBatches(loader, 3);
}

void CheckSame(const Dataset& dataset, const LoaderOptions& options, Trainer& trainer) {
  const std::vector<PlayedBatch> expected = OnHost(dataset, options);
  LoaderOptions host = options;
  host.device = Device();
  Loader host_loader(dataset, host);
  const ImageBatch of_host = host_loader.Epoch(3).begin()->image();
  Loader loader(dataset, options);
  std::size_t batches = 0;
  for (const Batch& batch : loader.Epoch(3)) {
    const ImageBatch& image = batch.image();
    REQUIRE(image.type == of_host.type);
    REQUIRE(image.layout == of_host.layout);
    REQUIRE(image.sample_bytes() == of_host.sample_bytes());
    REQUIRE(image.samples == batch.size());
    REQUIRE(batch.device().name() == "simulated");
    trainer.Read(batch);
    ++batches;
  }
  trainer.Finish();
  REQUIRE(batches == expected.size());
  const std::size_t first = trainer.seen().size() - batches;
  for (std::size_t b = 0; b < batches; ++b) {
    const Trainer::Seen& found = trainer.seen()[first + b];
    REQUIRE(found.samples == expected[b].samples);
    REQUIRE(found.pixels == expected[b].pixels);
    for (std::size_t row = 0; row < found.samples.size(); ++row)
      REQUIRE(found.labels[row] == static_cast<std::int32_t>(found.samples[row] % 3));
  }
}

}  // namespace

TEST_CASE("Batches on a device equal the host's to the bit, in every layout and type of number") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 22));
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 6);
  for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
    for (const std::uint32_t width : {16U, 15U}) {
      for (const unsigned channels : {3U, 1U}) {
        CAPTURE(layout == Layout::kNCHW, width, channels);
        options.output.layout = layout;
        options.output.channels = channels;
        options.transform = {RandomResizedCrop(width, 9), HorizontalFlip(), Solarize{}};
        CheckSame(dataset, options, trainer);
        for (const FloatType type :
             {FloatType::kFloat32, FloatType::kFloat16, FloatType::kBFloat16}) {
          options.transform.resize(3);
          if (channels == 3) {
            options.transform.push_back(
                Normalize{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}, type});
          } else {
            options.transform.push_back(Normalize{{0.5F}, {0.25F}, type});
          }
          CheckSame(dataset, options, trainer);
        }
      }
    }
  }
}

TEST_CASE("MixUp, CutMix and user functions find their numbers on the host, as without a device") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 20));
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 8);
  options.output.layout = Layout::kNCHW;
  const Pipeline steps = {Resize(12), Normalize{{0.5F}, {0.5F}, FloatType::kBFloat16}, OneHot{}};
  SECTION("mixup") {
    options.transform = steps;
    options.transform.push_back(MixUp{});
  }
  SECTION("cutmix") {
    options.transform = steps;
    options.transform.push_back(CutMix{});
  }
  SECTION("a function for samples") {
    options.transform = steps;
    options.sample_function = [](MutableSample& sample) {
      REQUIRE(sample.ImageBytes().size() == 12 * 12 * 3 * 2);
      sample.ImageBytes()[1] = std::byte{0x42};
    };
  }
  SECTION("a function for batches") {
    options.transform = steps;
    options.batch_function = [](MutableBatch& batch) { batch.ImageBytes()[3] = std::byte{0x17}; };
  }
  CheckSame(dataset, options, trainer);
}

TEST_CASE("Masks, fields that a step makes, and a short last batch reach the device, too") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "masks";
  DatasetWriter writer(path,
                       {{Field::Image(), Field::Mask("mask", "image"), Field::Label("label")}},
                       {"masks", 1'000'000, 4});
  for (int i = 0; i < 23; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    const std::vector<std::uint8_t> pixels(5 * 3 * 3, static_cast<std::uint8_t>(i));
    const std::vector<std::uint8_t> mask(5 * 3, static_cast<std::uint8_t>(100 + i));
    sample.SetPixels("image", 5, 3, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.SetPixels("mask", 5, 3, 1, PixelType::kUint8, std::as_bytes(std::span(mask)));
    sample.Set<std::int32_t>("label", i);
    writer.Add(sample);
  }
  writer.Finish();
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 10);
  options.transform = {Normalize{{0}, {1}, FloatType::kFloat32}, OneHot{23, 0, {}, "target"}};
  Loader loader(Dataset::Open(path), options);
  std::size_t rows = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    batch.WaitOn({trainer.stream});
    const ImageBatch image = batch.image();
    const ImageBatch mask = batch.image("mask");
    const DeviceSpan<float> target = batch.DeviceField<float>("target");
    REQUIRE((image.samples == batch.size() && mask.samples == batch.size()));
    REQUIRE(target.size == 23 * batch.size());
    REQUIRE(batch.Field<std::int32_t>("label").size() == batch.size());  // on the host
    std::vector<std::uint64_t> samples(batch.samples().begin(), batch.samples().end());
    trainer.device->Run(trainer.stream, [=, &rows] {
      for (std::size_t row = 0; row < samples.size(); ++row) {
        const std::uint64_t i = samples[row];
        rows += image.floats()[row * 45 + 44] ==
                            static_cast<float>(i) * static_cast<float>(1 / 255.0) &&
                        mask.data[row * 15 + 14] == 100 + i && target.data[row * 23 + i] == 1
                    ? 1
                    : 0;
      }
    });
  }
  trainer.Finish();
  CHECK(rows == 23);
}

TEST_CASE("A loader uses the device memory and copies the bytes that it states") {
  const TemporaryFolder folder;
  Trainer trainer;
  const std::size_t before = trainer.device->DeviceBytes();
  LoaderOptions options = DeviceOptions(trainer, 10);
  options.transform = {Normalize{{0}, {1}, FloatType::kFloat16}};
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), options);
  CHECK(loader.Memory().device == trainer.device->DeviceBytes() - before);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const Batch& batch : loader.Epoch(0))
      trainer.Read(batch);
    CHECK(loader.Memory().device == trainer.device->DeviceBytes() - before);
  }
  const LoaderStats stats = loader.Stats();
  CHECK(stats.upload_bytes >= 3 * 100 * (192 + 4));
  CHECK(stats.upload_seconds > 0);
}

TEST_CASE("A page-locked ring has its full length from the start") {
  const TemporaryFolder folder;
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 10);
  options.ring.prefetch.reset();  // on the host, the ring would grow if batches came too late
  options.ring.hold = 0;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), options);
  const std::size_t taken = trainer.device->Alive();
  CHECK(loader.Stats().prefetch == 4);
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    for (const Batch& batch : loader.Epoch(epoch))
      trainer.Read(batch);
  }
  CHECK(loader.Stats().prefetch == 4);
  trainer.Finish();
  CHECK(trainer.device->Alive() <= taken + 5);  // an event for each slot that a stream has used
}

TEST_CASE("A trace names slots by the addresses of batches on a device") {
  const TemporaryFolder folder;
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 10);
  options.diagnostics.trace = std::make_shared<LoaderTrace>();
  std::map<std::uint64_t, const void*> places;
  {
    Loader loader(Dataset::Open(WriteRawDataset(folder, 40)), options);
    for (const Batch& batch : loader.Epoch(0))
      places[batch.index()] = batch.image().data;
  }  // the planner may record its last batch after it has been handed over
  std::size_t found = 0;
  for (const TraceEvent& event : options.diagnostics.trace->Take()) {
    if (event.epoch > 0) continue;
    REQUIRE(event.slot == places.at(event.batch));
    ++found;
  }
  CHECK(found >= 8);  // each of four batches was read and decoded
}

TEST_CASE("A loader that waits for slots is bound by copies, or by the trainer's device") {
  LoaderStats stats;
  stats.batches = 100;
  stats.seconds = 10;
  stats.consumer_wait_seconds = 6;
  stats.consumer_seconds = 4;
  stats.upload_wait_seconds = 8;
  stats.upload_bytes = 450'000'000'000;
  stats.upload_seconds = 9;  // copies run all the time
  CHECK(stats.bound() == Bound::kUpload);
  CHECK_THAT(stats.Verdict(), Catch::Matchers::ContainsSubstring("90% of the time, at 50.0 GB/s"));
  stats.upload_seconds = 2;  // copies waited for kernels
  CHECK(stats.bound() == Bound::kTrainer);
  CHECK_THAT(stats.Verdict(), Catch::Matchers::ContainsSubstring("trainer's device"));
  stats.upload_wait_seconds = 0.1;  // slots were free: the loader is the bottleneck
  stats.decode_seconds = 20;
  CHECK(stats.bound() == Bound::kDecoding);
}

TEST_CASE("A loader whose device decodes all the time is bound by the device") {
  LoaderStats stats;
  stats.batches = 100;
  stats.seconds = 10;
  stats.consumer_wait_seconds = 6;
  stats.consumer_seconds = 4;
  stats.decode_wait_seconds = 19;  // threads mostly wait: they only copy rows
  stats.decode_seconds = 1;
  stats.device_pictures = 4'500'000;
  stats.device_decode_seconds = 9;
  CHECK(stats.bound() == Bound::kDevice);
  CHECK_THAT(stats.Verdict(), Catch::Matchers::ContainsSubstring("90% of the time, 2.00 us"));
  stats.upload_wait_seconds = 8;  // a slow device also gives slots back late
  CHECK(stats.bound() == Bound::kDevice);
  stats.device_decode_seconds = 5;
  CHECK(stats.bound() == Bound::kTrainer);
}

TEST_CASE("Batches on the host behave like a device's batches that are always ready") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 20)), OptionsFor(10, 1));
  const Batch batch = *loader.Epoch(0).begin();
  batch.WaitOn({});
  batch.Synchronize();
  CHECK(batch.device().is_host());
  CHECK(batch.DeviceField<std::int32_t>("label").data == batch.Field<std::int32_t>("label").data());
}

TEST_CASE("A missing GPU is refused with a reason") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  LoaderOptions options = OptionsFor(10, 1);
  options.device = Device::Cuda(Device::CudaCount());
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kUnsupported),
             Catch::Matchers::ContainsSubstring("LoaderOptions::device"));
  ErrorText([] { Device::Cuda(-1); }, ErrorCode::kInvalidArgument);
}

TEST_CASE("Images of different sizes reach the device as they are on the host") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 21));
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 8);
  options.output.image_sizes = GENERATE(ImageSizes::kOwn, ImageSizes::kPadded);
  options.transform = {ResizeShortSide(20), HorizontalFlip(), Normalize{}};
  options.views = {{"small", {ResizeShortSide(9)}, {}}};
  const auto images = [](const Batch& batch) {
    std::vector<ImageBatch> made;
    for (std::size_t row = 0; row < batch.size(); ++row)
      for (const char* const field : {"image", "small"})
        made.push_back(batch.image(field, row));
    return made;
  };
  LoaderOptions host = options;
  host.device = Device();
  Loader expected(dataset, host);
  Loader loader(dataset, options);
  EpochRange of_host = expected.Epoch(0);
  auto at = of_host.begin();
  std::size_t seen = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    REQUIRE(batch.size() == at->size());
    batch.WaitOn({trainer.stream});
    const std::vector<ImageBatch> there = images(batch), here = images(*at);
    std::vector<std::uint8_t> same(there.size());
    trainer.device->Run(trainer.stream, [&] {
      for (std::size_t i = 0; i < there.size(); ++i)
        same[i] = there[i].data != here[i].data && there[i].height == here[i].height &&
                  there[i].width == here[i].width && there[i].type == here[i].type &&
                  std::equal(there[i].data, there[i].data + there[i].sample_bytes(), here[i].data);
    });
    trainer.Finish();
    REQUIRE(std::count(same.begin(), same.end(), 1) == static_cast<long>(same.size()));
    seen += batch.size();
    ++at;
  }
  CHECK(seen == 21);
  CHECK(loader.Memory().device >= loader.Memory().slots / 2);
}
