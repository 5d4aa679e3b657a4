// Steps that change pixels, run on a device, give the host's batches to the bit.
#include <stdexcept>

#include "tests/device/trainer.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::uint64_t kStepsEpoch = 2;

// Compares a loader's batches with the host's, with `steps` after a crop and a flip. The loader's
// Describe() must say that `on_device` of the steps run on the device.
void CheckSteps(const Dataset& dataset, LoaderOptions options, const Pipeline& steps,
                std::size_t on_device) {
  options.transform = {RandomResizedCrop(17, 12), HorizontalFlip()};
  options.transform.insert(options.transform.end(), steps.begin(), steps.end());
  LoaderOptions host = options;
  host.device = Device();
  Loader host_loader(dataset, host);
  Loader loader(dataset, options);
  const std::string text = loader.Describe();
  INFO(text);
  std::size_t lines = 0;
  for (std::size_t at = text.find("on the device"); at != std::string::npos;
       at = text.find("on the device", at + 1))
    ++lines;
  REQUIRE(lines == on_device);
  const std::vector<PlayedBatch> expected = PlayBatches(host_loader, kStepsEpoch);
  std::size_t batches = 0;
  for (const Batch& batch : loader.Epoch(kStepsEpoch)) {
    batch.Synchronize();  // the host can read a simulated device's memory
    REQUIRE(Keep(batch) == expected.at(batches++));
  }
  REQUIRE(batches == expected.size());
}

Pipeline Everything() {
  RandomErasing erasing{0.7};
  erasing.value = {9, 80, 200};
  return {ColorJitter{.4, .4, .4, .1},
          RandomGrayscale{0.3},
          Solarize{100, 0.5},
          Posterize{3, 0.5},
          Invert{0.5},
          ColorJitter{0, 0.5, 0, 0, 0.8},
          RandomHSV{0.1, 0.7, 0.4, 0.6},
          RandomPhotometricDistort{},
          erasing};
}

// Most of these read the whole picture, as the previous steps have left it.
Pipeline WholePictures() {
  RandomErasing noise{0.7};
  noise.noise = true;
  return {RandAugment{3},
          GaussianBlur{7, 0.1, 2, 0.5},
          Solarize{100, 0.5},
          AutoContrast{0.5},
          Equalize{0.5},
          ColorJitter{.4, .4, .4, .1},
          AdjustSharpness{1.7, 0.5},
          noise,
          TrivialAugmentWide{}};
}

}  // namespace

TEST_CASE("A device follows a schedule of steps") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 14));
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 6);
  const Pipeline crop = {RandomResizedCrop(17, 12), Normalize{}};
  options.transform = crop;
  Pipeline few = crop, many = crop;
  few.insert(few.end() - 1, ColorJitter{.4});
  const Pipeline whole = WholePictures();
  many.insert(many.end() - 1, whole.begin(), whole.end());
  options.schedule = {{1, many}, {2, few}, {3, crop}};
  LoaderOptions host = options;
  host.device = Device();
  Loader host_loader(dataset, host), loader(dataset, options);
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    auto expected = host_loader.Epoch(epoch).begin();
    for (const Batch& batch : loader.Epoch(epoch)) {
      batch.Synchronize();
      CHECK(Keep(batch) == Keep(*expected));
      ++expected;
    }
  }
}

TEST_CASE("Each row on a device has the list of steps that it has on the host") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 14));
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 6);
  const Pipeline crop = {RandomResizedCrop(17, 12)};
  Pipeline points = crop, whole = WholePictures();
  points.push_back(ColorJitter{.4, .4, .4, .1});
  whole.insert(whole.begin(), Resize(17, 12));
  options.transform = {RandomChoice({points, crop, whole}), Invert{0.5},
                       RandomChoice({{Solarize{100}}, {}}, {1, 3}), Normalize{}};
  for (const DecodeOn decode : {DecodeOn::kHost, DecodeOn::kDevice}) {
    options.on_device.decode = decode;
    LoaderOptions host = options;
    host.device = Device();
    host.on_device.decode = DecodeOn::kHost;
    Loader host_loader(dataset, host), loader(dataset, options);
    for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
      auto expected = host_loader.Epoch(epoch).begin();
      for (const Batch& batch : loader.Epoch(epoch)) {
        batch.Synchronize();
        CHECK(Keep(batch) == Keep(*expected));
        ++expected;
      }
    }
  }
}

TEST_CASE("Each step that a device supports gives the host's bytes there") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 14));
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 6);
  RandomErasing erasing{1}, noise{0.8};
  noise.noise = true;
  RandAugment augment;
  augment.operations = 4;
  TrivialAugmentWide bilinear;
  bilinear.bilinear = true;
  bilinear.fill = {90, 0, 255};
  const std::vector<Transform> steps = {ColorJitter{.6},
                                        ColorJitter{0, .6},
                                        ColorJitter{0, 0, .6},
                                        ColorJitter{0, 0, 0, .5},
                                        ColorJitter{.4, .4, .4, .1, 0.6},
                                        RandomGrayscale{0.5},
                                        Solarize{90, 0.5},
                                        Posterize{2, 0.5},
                                        Invert{0.5},
                                        erasing,
                                        noise,
                                        AutoContrast{0.7},
                                        Equalize{0.7},
                                        AdjustSharpness{2, 0.7},
                                        GaussianBlur{5, 0.3, 2, 0.7},
                                        augment,
                                        TrivialAugmentWide{},
                                        bilinear};
  for (const unsigned channels : {3U, 1U}) {
    options.output.channels = channels;
    for (const Transform& step : steps) {
      CAPTURE(channels, step.index());
      CheckSteps(dataset, options, {step}, 1);
    }
  }
}

TEST_CASE("Several steps give the host's bytes, in every layout and type and for any threads") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 22));
  Trainer trainer;
  for (const unsigned threads : {1U, 2U, 4U}) {
    LoaderOptions options = DeviceOptions(trainer, 6, threads);
    for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
      options.output.layout = layout;
      CAPTURE(threads, layout == Layout::kNCHW);
      CheckSteps(dataset, options, Everything(), 9);
      CheckSteps(dataset, options, WholePictures(), 9);
      for (const FloatType type :
           {FloatType::kFloat32, FloatType::kFloat16, FloatType::kBFloat16}) {
        Pipeline steps = Everything();
        steps.push_back(Normalize{{0.4F, 0.5F, 0.6F}, {0.2F, 0.3F, 0.25F}, type});
        CheckSteps(dataset, options, steps, 10);
      }
    }
  }
}

TEST_CASE("Steps follow one another on a device, whatever parts of a picture they read") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 14));
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 6);
  for (const FloatType type : {FloatType::kFloat32, FloatType::kBFloat16}) {
    Pipeline steps = WholePictures();
    steps.insert(steps.end(), {Invert{0.5}, Normalize{{0.5F}, {0.25F}, type}});
    for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
      options.output.layout = layout;
      CheckSteps(dataset, options, steps, 11);
    }
  }
}

TEST_CASE("The device memory in addition to a batch depends on what its steps read") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 14));
  Trainer trainer;
  const std::size_t before = trainer.device->DeviceBytes();
  const auto bytes = [&](const Pipeline& steps) {
    LoaderOptions options = DeviceOptions(trainer, 6);
    options.transform = {RandomResizedCrop(64)};
    options.transform.insert(options.transform.end(), steps.begin(), steps.end());
    const Loader loader(dataset, options);
    CHECK(loader.Memory().device == trainer.device->DeviceBytes() - before);
    return loader.Memory().device;
  };
  constexpr std::size_t kBatchOfPixels = 6 * 64 * 64 * 3;  // a whole number of pages
  const std::size_t plain = bytes({ColorJitter{.4, .4}});
  CHECK(bytes({Equalize{0.5}}) == plain);
  CHECK(bytes({AdjustSharpness{2, 0.5}}) == plain + kBatchOfPixels);
  CHECK(bytes({RandAugment{}}) == plain + kBatchOfPixels);
  CHECK(bytes({GaussianBlur{3}}) == plain + 2 * kBatchOfPixels);
  CHECK(bytes({GaussianBlur{3}, RandAugment{}}) == plain + 2 * kBatchOfPixels);
}

TEST_CASE(
    "A device runs the last steps: as many as fit, and none before a step that mixes samples") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 14));
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 6);
  // CutMix and MixUp need the final pixels on the host; OneHot concerns only labels.
  CheckSteps(dataset, options, {Invert{0.5}, Normalize{{0.5F}, {0.25F}}, OneHot{}}, 2);
  CheckSteps(dataset, options, {Invert{0.5}, Normalize{{0.5F}, {0.25F}}, OneHot{}, CutMix{}}, 1);
  CheckSteps(dataset, options, {Invert{0.5}, Normalize{{0.5F}, {0.25F}}, OneHot{}, MixUp{}}, 0);
  // More steps than fit on a device: the last 64 of them run there.
  CheckSteps(dataset, options, Pipeline(70, ColorJitter{0.05, 0.05, 0, 0, 0.5}), 64);
  CheckSteps(dataset, options, Pipeline(4, RandAugment{16}), 3);
}

TEST_CASE("Steps stay on the host on request") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 14));
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 6);
  options.on_device.steps = false;
  Pipeline steps = Everything();
  CheckSteps(dataset, options, steps, 0);
  steps.push_back(Normalize{{0.5F}, {0.25F}});
  CheckSteps(dataset, options, steps, 1);
}

TEST_CASE("Steps on a device give the same batches after a resume, and with samples left out") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 30));
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 6);
  options.transform = {RandomResizedCrop(16)};
  for (const Transform& step : Everything())
    options.transform.push_back(step);
  LoaderOptions host = options;
  host.device = Device();
  Loader host_loader(dataset, host);
  const std::vector<PlayedBatch> expected = PlayBatches(host_loader, 1);
  Loader loader(dataset, options);
  const auto play = [](Loader& from, std::size_t first, std::size_t end,
                       const std::vector<PlayedBatch>& as) {
    for (const Batch& batch : from.Epoch(1)) {
      batch.Synchronize();
      REQUIRE(Keep(batch) == as.at(first));
      if (++first == end) break;
    }
    REQUIRE(first == end);
  };
  play(loader, 0, 2, expected);
  options.resume_from = loader.State();
  Loader resumed(dataset, options);
  play(resumed, 2, expected.size(), expected);

  // When a sample is left out, other rows move together with their operations for the device.
  options.resume_from.reset();
  // Labels are 0, 1 and 2: the last is not one of two classes.
  host.transform.push_back(OneHot{2, 0, {}, "target"});
  options.transform.push_back(OneHot{2, 0, {}, "target"});
  host.integrity.on_fault = options.integrity.on_fault = OnFault::kSkip;
  Loader host_skipping(dataset, host), skipping(dataset, options);
  const std::vector<PlayedBatch> fewer = PlayBatches(host_skipping, 1);
  REQUIRE(SamplesOf(fewer).size() == 20);
  play(skipping, 0, fewer.size(), fewer);
  CHECK_THAT(skipping.Describe(), ContainsSubstring("on the device"));
}
