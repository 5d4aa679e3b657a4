// Several views, and sizes that change with the epoch, on a device.
#include "tests/device/trainer.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// Images of a batch, and their shapes.
struct SeenImages {
  std::vector<ImageBatch> shapes;  // without data
  std::vector<std::vector<std::uint8_t>> bytes;
};

SeenImages ImagesOf(const Batch& batch, const std::vector<std::string>& names) {
  batch.Synchronize();
  SeenImages seen;
  for (const std::string& name : names) {
    ImageBatch image = batch.image(name);
    seen.bytes.emplace_back(image.data, image.data + image.samples * image.sample_bytes());
    image.data = nullptr;
    seen.shapes.push_back(image);
  }
  return seen;
}

// Compares the images of these names in these epochs with the host's.
void CheckImages(const Dataset& dataset, const LoaderOptions& options,
                 const std::vector<std::string>& names, const std::vector<std::uint64_t>& epochs) {
  LoaderOptions host = options;
  host.device = Device();
  Loader host_loader(dataset, host), loader(dataset, options);
  for (const std::uint64_t epoch : epochs) {
    std::vector<SeenImages> expected;
    for (const Batch& batch : host_loader.Epoch(epoch))
      expected.push_back(ImagesOf(batch, names));
    std::size_t b = 0;
    for (const Batch& batch : loader.Epoch(epoch)) {
      const SeenImages seen = ImagesOf(batch, names);
      const SeenImages& as = expected.at(b++);
      for (std::size_t i = 0; i < names.size(); ++i) {
        CAPTURE(epoch, batch.index(), names[i]);
        REQUIRE(seen.shapes[i].samples == as.shapes[i].samples);
        REQUIRE(seen.shapes[i].height == as.shapes[i].height);
        REQUIRE(seen.shapes[i].width == as.shapes[i].width);
        REQUIRE(seen.shapes[i].channels == as.shapes[i].channels);
        REQUIRE(seen.shapes[i].layout == as.shapes[i].layout);
        REQUIRE(seen.shapes[i].type == as.shapes[i].type);
        REQUIRE(seen.bytes[i] == as.bytes[i]);
      }
    }
    REQUIRE(b == expected.size());
  }
}

const std::vector<float> kViewMean = {0.5F}, kViewDeviation = {0.25F};

}  // namespace

TEST_CASE("Each view on a device has numbers, steps and layout of its own") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 22));
  Trainer trainer;
  for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
    LoaderOptions options = DeviceOptions(trainer, 6);
    options.output.layout = layout;
    options.transform = {RandomResizedCrop(16), HorizontalFlip(), ColorJitter{.4, .4, .4, .1},
                         Normalize{kViewMean, kViewDeviation, FloatType::kFloat16}};
    options.views = {{"as-they-are", {RandomResizedCrop(12)}, {}},
                     {"steps", {RandomResizedCrop(20, 9), RandomGrayscale{0.5}, Solarize{}}, {}},
                     {"numbers", {Resize(9, 7), Normalize{kViewMean, kViewDeviation}}, {}},
                     {"blurred", {Resize(8), Invert{0.5}, GaussianBlur{3}}, {}}};
    CheckImages(dataset, options, {"image", "as-they-are", "steps", "numbers", "blurred"}, {0, 1});
    // The first view needs nothing from the device; then no view does.
    options.transform = {RandomResizedCrop(16)};
    CheckImages(dataset, options, {"image", "steps", "numbers"}, {0});
    options.views = {{"second", {RandomResizedCrop(16)}, {}}};
    CheckImages(dataset, options, {"image", "second"}, {0});
  }
}

TEST_CASE("Sizes change with the epoch on a device, in every view") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 22));
  Trainer trainer;
  const std::size_t before = trainer.device->DeviceBytes();
  LoaderOptions options = DeviceOptions(trainer, 6);
  for (const bool numbers : {false, true}) {
    options.transform = {RandomResizedCrop(16)};
    if (numbers) {
      options.transform.push_back(ColorJitter{.4, .4});
      options.transform.push_back(Normalize{kViewMean, kViewDeviation});
    }
    options.sizes = {{0, 8, 8}, {1, 21, 9}, {2, 12, 12}};
    options.views = {{"second", options.transform, {{0, 30, 10}, {2, 7, 7}}}};
    CheckImages(dataset, options, {"image", "second"}, {0, 1, 2, 3, 0});
    Loader loader(dataset, options);
    CHECK(loader.Memory().device == trainer.device->DeviceBytes() - before);
  }
}

TEST_CASE("Masks and views share a batch on a device") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "masks";
  DatasetWriter writer(path,
                       {{Field::Image(), Field::Mask("mask", "image"), Field::Label("label")}},
                       {"masks", 1'000'000, 4});
  for (int i = 0; i < 17; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    std::vector<std::uint8_t> pixels(12 * 10 * 3), mask(12 * 10);
    for (std::size_t p = 0; p < pixels.size(); ++p)
      pixels[p] = static_cast<std::uint8_t>(p * 7 + static_cast<std::size_t>(i) * 31);
    for (std::size_t p = 0; p < mask.size(); ++p)
      mask[p] = static_cast<std::uint8_t>(p % 20 + static_cast<std::size_t>(i));
    sample.SetPixels("image", 12, 10, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.SetPixels("mask", 12, 10, 1, PixelType::kUint8, std::as_bytes(std::span(mask)));
    sample.Set<std::int32_t>("label", i);
    writer.Add(sample);
  }
  writer.Finish();
  const Dataset dataset = Dataset::Open(path);
  Trainer trainer;
  LoaderOptions options = DeviceOptions(trainer, 5);
  options.output.layout = Layout::kNCHW;
  options.transform = {RandomResizedCrop(9), HorizontalFlip(), ColorJitter{.4, .4},
                       Normalize{kViewMean, kViewDeviation}, OneHot{17, 0, {}, "target"}};
  options.views = {{"second", {RandomCrop(6), Invert{0.5}}, {}}};
  CheckImages(dataset, options, {"image", "mask", "second"}, {0, 1});
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0)) {
    batch.Synchronize();
    const std::span<const std::int32_t> labels = batch.Field<std::int32_t>("label");
    for (std::size_t row = 0; row < batch.size(); ++row) {
      REQUIRE(batch.DeviceField<std::int32_t>("label").data[row] == labels[row]);
      REQUIRE(batch.DeviceField<float>("target")
                  .data[row * 17 + static_cast<std::size_t>(labels[row])] == 1);
    }
  }
}
