// Crops of a picture of 200 megapixels, whose file has some 40 MB: the memory that they take, and
// the bytes that are read.
#include <cmath>
#include <cstdlib>

#include "tests/reader/playing.h"
#include "tests/reader/process_memory.h"
#include "tests/reader/remote_dataset.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint32_t kHugeWidth = 20'000, kHugeHeight = 10'000;

// A wave in each channel, and grain, which makes the file as large as a photo's.
std::uint8_t PixelAt(std::uint32_t x, std::uint32_t y, std::uint32_t c) {
  std::uint32_t grain = x * 0x9E3779B1U ^ y * 0x85EBCA77U;
  grain = (grain ^ (grain >> 15)) * 0x2C1B3C6DU;
  const std::uint32_t wave = (x * (c + 1) / 8 + y / 4) % 256;
  const std::uint32_t smooth = wave < 128 ? wave : 255 - wave;
  return static_cast<std::uint8_t>(50 + smooth + (grain >> 28));
}

// Compresses row by row: the pixels are never in memory together.
std::vector<std::byte> LargeJpeg() {
  jpeg_compress_struct object{};
  jpeg_error_mgr errors{};
  object.err = jpeg_std_error(&errors);
  jpeg_create_compress(&object);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&object, &memory, &size);
  object.image_width = kHugeWidth;
  object.image_height = kHugeHeight;
  object.input_components = 3;
  object.in_color_space = JCS_RGB;
  jpeg_set_defaults(&object);
  jpeg_set_quality(&object, 90, TRUE);
  object.restart_in_rows = 1;  // as `sluice convert` stores JPEGs
  jpeg_start_compress(&object, TRUE);
  std::vector<std::uint8_t> row(std::size_t{kHugeWidth} * 3);
  for (std::uint32_t y = 0; y < kHugeHeight; ++y) {
    for (std::uint32_t x = 0; x < kHugeWidth; ++x) {
      for (std::uint32_t c = 0; c < 3; ++c)
        row[std::size_t{x} * 3 + c] = PixelAt(x, y, c);
    }
    JSAMPROW pixels = row.data();
    jpeg_write_scanlines(&object, &pixels, 1);
  }
  jpeg_finish_compress(&object);
  jpeg_destroy_compress(&object);
  const auto* const bytes = reinterpret_cast<const std::byte*>(memory);
  std::vector<std::byte> file(bytes, bytes + size);
  std::free(memory);
  return file;
}

// The mean absolute difference between an image and the pixels of the formula from (left, top) on.
double DifferenceAt(const ImageBatch& image, std::uint32_t left, std::uint32_t top) {
  double sum = 0;
  for (std::uint32_t y = 0; y < image.height; ++y) {
    for (std::uint32_t x = 0; x < image.width; ++x) {
      for (std::uint32_t c = 0; c < 3; ++c)
        sum += std::abs(image.data[(y * image.width + x) * 3 + c] - PixelAt(left + x, top + y, c));
    }
  }
  return sum / double(image.height * image.width * 3);
}

}  // namespace

TEST_CASE("Crops of a picture of 200 megapixels take little memory in addition to its file",
          "[no-tsan]") {
  constexpr std::uint64_t kCrops = 16;
  const ReadLimits all{.max_pixels = std::uint64_t{kHugeWidth} * kHugeHeight};
  constexpr std::uint64_t kOwn = 24 << 20;  // planes, rows, tables, stacks
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "large";
  std::uint64_t payload = 0;
  {
    DatasetWriter writer(path, {{Field::Image()}}, {"large", 128'000'000, 1});
    SampleBuilder sample = writer.NewSample("large");
    std::vector<std::byte> file = LargeJpeg();
    payload = file.size();
    sample.SetJpeg("image", std::move(file));
    writer.Add(sample);
    writer.Finish();
  }
  REQUIRE(payload > 30'000'000);
  REQUIRE(payload < 60'000'000);

  enum class Way { kMapped, kDirect, kRemote };
  for (const Way way : {Way::kMapped, Way::kDirect, Way::kRemote}) {
    CAPTURE(way);
    LoaderOptions options = OptionsFor(1, 1);
    options.transform = {RandomCrop(512)};
    options.order.samples = SampleList::Of(std::vector<std::uint64_t>(kCrops, 0));
    if (way == Way::kDirect) options.storage = Direct{};
    const std::uint64_t before = AnonymousBytes();
    Loader loader(way == Way::kRemote
                      ? DatasetOf(DatasetState::Open(std::make_shared<LocalStore>(path), all))
                      : Dataset::Open(path, all),
                  options);
    std::uint64_t most = 0, crops = 0;
    for (const Batch& batch : loader.Epoch(0)) {
      crops += batch.size();
      most = std::max(most, AnonymousBytes());
    }
    CHECK(crops == kCrops);
    // A mapped payload lies in the page cache. Otherwise the loader has memory of its own: for two
    // payloads, and some more because their sizes are rounded up.
    const std::uint64_t held = loader.Memory().blocks;
    CHECK((held == 0) == (way == Way::kMapped));
    CHECK(held <= 3 * payload);
    if (!kSanitized) CHECK(most <= before + held + kOwn);
    // The checksum covers the whole payload, so all of it is fetched, but only once.
    if (way == Way::kRemote) CHECK(loader.Stats().fetched_bytes <= payload + 2 * 65536);
  }

  LoaderOptions options = OptionsFor(1, 1);
  options.transform = {CenterCrop(512)};
  Loader loader(Dataset::Open(path, all), options);
  for (const Batch& batch : loader.Epoch(0)) {
    // JPEG blurs the grain, which has 16 levels, so the difference is not 0. That the crop comes
    // from the right place is shown by the larger difference from a place 200 pixels away.
    CHECK(DifferenceAt(batch.image(), (kHugeWidth - 512) / 2, (kHugeHeight - 512) / 2) < 8);
    CHECK(DifferenceAt(batch.image(), (kHugeWidth - 512) / 2 + 200, (kHugeHeight - 512) / 2) > 8);
  }
}
