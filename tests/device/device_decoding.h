// Loaders whose device decodes (OnDevice::decode), and a comparison of their batches with the
// host's.
#pragma once

#include "tests/device/trainer.h"

namespace sluice::test {

// Writes a dataset of JPEGs. form(i) returns the JpegOptions of picture i.
template <class Form>
std::filesystem::path WriteForms(const TemporaryFolder& folder, int count, const Form& form) {
  const std::filesystem::path path = folder / "forms";
  DatasetWriter writer(path, {{Field::Image(), Field::Label("label")}}, {"forms", 1'000'000, 4});
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample("photo-" + std::to_string(i));
    const auto n = static_cast<std::uint32_t>(i);
    sample.SetJpeg("image", MakeJpeg(MakePicture(80 + n % 17, 60 + n % 23, 3, n), form(i)));
    sample.Set<std::int32_t>("label", i);
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

// A batch as a trainer finds it on its device.
struct Seen {
  std::vector<std::uint64_t> samples;
  std::vector<std::vector<std::uint8_t>> images;
  std::vector<std::int32_t> labels;
  friend bool operator==(const Seen&, const Seen&) = default;
};

// Plays an epoch, or its first `limit` batches, and keeps the images with these names.
inline std::vector<Seen> Play(Loader& loader, std::uint64_t epoch,
                              const std::vector<std::string>& names, std::size_t limit = SIZE_MAX) {
  std::vector<Seen> played;
  for (const Batch& batch : loader.Epoch(epoch)) {
    batch.Synchronize();
    Seen& seen = played.emplace_back();
    seen.samples.assign(batch.samples().begin(), batch.samples().end());
    for (const std::string& name : names) {
      const ImageBatch image = batch.image(name);
      seen.images.emplace_back(image.data, image.data + image.samples * image.sample_bytes());
    }
    const DeviceSpan<std::int32_t> labels = batch.DeviceField<std::int32_t>("label");
    seen.labels.assign(labels.data, labels.data + labels.size);
    const std::span<const std::int32_t> here = batch.Field<std::int32_t>("label");
    REQUIRE(std::equal(here.begin(), here.end(), seen.labels.begin(), seen.labels.end()));
    if (played.size() == limit) break;
  }
  return played;
}

inline LoaderOptions DecodingOptions(const Trainer& trainer, std::size_t batch_size = 6,
                                     unsigned threads = 2) {
  LoaderOptions options = DeviceOptions(trainer, batch_size, threads);
  options.on_device.decode = DecodeOn::kDevice;
  return options;
}

inline LoaderOptions OptionsOnHost(LoaderOptions options) {
  options.device = Device();
  options.on_device = {};
  return options;
}

// Checks that these epochs equal the host's. Returns how many pictures the device decoded. The
// count may include batches that were decoded ahead, at most as many as the ring has.
inline std::uint64_t CheckSame(const Dataset& dataset, const LoaderOptions& options,
                               const std::vector<std::string>& names = {"image"},
                               const std::vector<std::uint64_t>& epochs = {0, 1}) {
  LoaderOptions host = options;
  host.device = Device();
  host.on_device.decode = DecodeOn::kHost;
  Loader expected(dataset, host), loader(dataset, options);
  for (const std::uint64_t epoch : epochs) {
    CAPTURE(epoch);
    REQUIRE(Play(loader, epoch, names) == Play(expected, epoch, names));
  }
  REQUIRE(expected.Stats().device_pictures == 0);
  return loader.Stats().device_pictures;
}

// Whether `expected` pictures were decoded, or a few more, which were decoded ahead.
inline bool IsAbout(std::uint64_t decoded, std::uint64_t expected) {
  return decoded >= expected && decoded <= expected + expected / 3 + 24;
}

inline const std::vector<float> kMeans = {0.5F}, kDeviations = {0.25F};

}  // namespace sluice::test
