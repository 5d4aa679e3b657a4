// Decoding on a GPU gives the host's bytes: for regions of single pictures, and in loaders of
// photo-sized pictures. Skipped without a GPU, with a message. Also runs on cuda_double/.
#include <array>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime_api.h>

#include <sluice/cuda.h>

#include "format/random.h"
#include "tests/device/jpeg_case.h"
#include "tests/device/on_card.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// Fewer and smaller samples if the CPU simulates the GPU.
#if defined(SLUICE_CUDA_DOUBLE)
constexpr int kPhotos = 4;
constexpr std::uint32_t kPhotoWidth = 60, kPhotoHeight = 44, kImage = 16;
constexpr std::size_t kPhotoBatch = 3;
#else
constexpr int kPhotos = 96;
constexpr std::uint32_t kPhotoWidth = 500, kPhotoHeight = 375, kImage = 224;
constexpr std::size_t kPhotoBatch = 40;
#endif

// Writes pictures in one form and several sizes. Of compressed ones, some are grey, some have
// chroma of full resolution, and some have a higher quality.
std::filesystem::path WritePhotos(const TemporaryFolder& folder, Codec codec) {
  const std::filesystem::path path = folder / ("photos-" + std::to_string(int(codec)));
  DatasetWriter writer(path, {{Field::Image(), Field::Label("label")}}, {"photos", 8'000'000, 4});
  for (int i = 0; i < kPhotos; ++i) {
    const auto n = static_cast<std::uint32_t>(i);
    const std::uint32_t channels = codec != Codec::kRaw && i % 7 == 3 ? 1 : 3;
    const Picture picture = MakePicture(kPhotoWidth - n % 5, kPhotoHeight - n % 3, channels, n);
    SampleBuilder sample = writer.NewSample("photo-" + std::to_string(i));
    sample.Set<std::int32_t>("label", i);
    JpegOptions form = StoredForm();
    form.subsample = i % 3 != 0;
    form.quality = i % 4 == 0 ? 98 : 90;
    if (codec == Codec::kRaw) {
      sample.SetPixels("image", picture.width, picture.height, channels, PixelType::kUint8,
                       std::as_bytes(std::span(picture.pixels)));
    } else if (codec == Codec::kPacked) {
      REQUIRE(sample.SetPacked("image", MakeJpeg(picture, form)));
    } else {
      sample.SetJpeg("image", MakeJpeg(picture, form));
    }
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

}  // namespace

TEST_CASE("Kernels decode JPEGs to the host's pixels, and find pictures with broken rows") {
  if (NoCard()) return;
  JpegCase images(DeviceAccess::Open(Device::Cuda(0)), 3, PixelOrder::kInterleaved);
  JpegOptions form;
  form.restart_rows = 1;
  std::vector<std::vector<std::byte>> files;
  for (std::uint32_t i = 0; i < 5; ++i) {
    form.subsample = i % 2 == 0;
    files.push_back(MakeJpeg(MakePicture(70 + 9 * i, 300 - 50 * i, 3, i), form));
  }
  // Makes picture 3 broken: no code consists of that many ones.
  for (const std::size_t back : {900U, 898U, 896U}) {
    files[3][files[3].size() - back] = std::byte{0xFF};
    files[3][files[3].size() - back + 1] = std::byte{0};
  }
  const auto payload = [&](std::uint32_t i) {
    return JpegPayloadOf(files[i], 70 + 9 * i, 300 - 50 * i);
  };
  const auto region = [&](std::uint32_t i) {
    return Part(3, 1, 60 + 9 * i, 298 - 50 * i, 40, 33);  // more pixels than a block has threads
  };
  for (std::uint32_t i = 0; i < 5; ++i)
    REQUIRE(images.Add(payload(i), region(i)));
  images.Run();
  for (std::uint32_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    REQUIRE(images.broken(i) == (i == 3));
    if (i != 3)
      REQUIRE(images.pixels(i) == OnTheHost(payload(i), region(i), 3, PixelOrder::kInterleaved));
  }
}

TEST_CASE("Kernels make images of pictures that lie in device memory, raw or compressed") {
  if (NoCard()) return;
  JpegOptions form;
  form.restart_rows = 1;
  const auto file = MakeJpeg(MakePicture(90, 120), form);
  const Picture pixels = MakePicture(90, 120, 3, 5);
  const ImagePayload jpeg = JpegPayloadOf(file, 90, 120);
  const ImagePayload raw = {
      Codec::kRaw, PixelType::kUint8, 3, 90, 120, std::as_bytes(std::span(pixels.pixels))};
  const Region region = Part(3, 1, 80, 110, 40, 33);
  for (const bool both : {true, false}) {  // without compressed pictures no rows are decoded
    JpegCase images(DeviceAccess::Open(Device::Cuda(0)), 3, PixelOrder::kPlanar);
    REQUIRE(images.AddStored(raw, region));
    if (both) REQUIRE(images.AddStored(jpeg, region));
    images.Run();
    REQUIRE(images.pixels(0) == OnTheHost(raw, region, 3, PixelOrder::kPlanar));
    if (both) REQUIRE(images.pixels(1) == OnTheHost(jpeg, region, 3, PixelOrder::kPlanar));
  }
}

TEST_CASE("A warp unpacks rows of packed pictures to the host's pixels, next to JPEGs") {
  if (NoCard()) return;
  JpegCase images(DeviceAccess::Open(Device::Cuda(0)), 3, PixelOrder::kPlanar);
  JpegOptions form;
  form.restart_rows = 1;
  form.quality = 99;  // some values are large
  // Rows with fewer blocks than a warp has threads, with as many, and with more.
  const std::uint32_t widths[] = {7, 90, 256, 264, 530};
  std::vector<std::vector<std::byte>> files, packed;
  for (std::uint32_t i = 0; i < 5; ++i) {
    form.subsample = i % 2 == 0;
    files.push_back(MakeJpeg(MakePicture(widths[i], 40, 3, i), form));
    packed.push_back(PackedOf(files[i]));
  }
  const auto region = [&](std::uint32_t i) {
    return Part(i == 0 ? 0 : 5, 3, widths[i] - 5, 35, 30, 20);
  };
  const auto payload = [&](std::uint32_t i) { return JpegPayloadOf(files[i], widths[i], 40); };
  for (std::uint32_t i = 0; i < 5; ++i) {
    REQUIRE(images.Add(PackedPayloadOf(packed[i], payload(i)), region(i)));
    REQUIRE(images.Add(payload(i), region(i)));
  }
  images.Run();
  for (std::uint32_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    const auto expected = OnTheHost(payload(i), region(i), 3, PixelOrder::kPlanar);
    REQUIRE_FALSE(images.broken(2 * i));
    REQUIRE(images.pixels(2 * i) == expected);
    REQUIRE(images.pixels(2 * i + 1) == expected);
  }
}

TEST_CASE("A warp refuses damaged rows as a single thread does, and reads nothing outside them",
          "[no-tsan]") {
  if (NoCard()) return;
  JpegOptions form;
  form.quality = 98;
  const auto packed = PackedOf(MakeJpeg(MakePicture(280, 24), form));
  const ImagePayload whole = PackedPayloadOf(packed, JpegPayloadOf(packed, 280, 24));
  packed::Header header;
  REQUIRE(packed::ParseHeader(packed, header) == nullptr);
  const Bytes first = packed::LineOf(packed, header, 0);
  RandomStream random(11, static_cast<Purpose>(999), 0);
  std::size_t broken = 0, taken = 0;
  for (int round = 0; round < 120; ++round) {
    auto damaged = packed;
    // Changes some bits in the first row of blocks: anywhere, in its number of large values, or in
    // the masks that follow.
    const std::size_t reach = round % 3 == 0 ? first.size() : round % 3 == 1 ? 4 : 40;
    const auto at = static_cast<std::size_t>(first.data() - packed.data());
    for (std::uint64_t flips = 1 + random.Below(3); flips > 0; --flips)
      damaged[at + random.Below(reach)] ^= std::byte(1U << random.Below(8));
    ImagePayload payload = whole;
    payload.bytes = damaged;
    const Region region = Part(9, 2, 260, 20, 65, 5 + round % 15);
    JpegCase by_warp(DeviceAccess::Open(Device::Cuda(0)), 3, PixelOrder::kInterleaved);
    JpegCase by_one(OneSimulatedDevice(), 3, PixelOrder::kInterleaved);
    REQUIRE(by_warp.Add(payload, region) == by_one.Add(payload, region));
    by_warp.Run();
    by_one.Run();
    CAPTURE(round);
    REQUIRE(by_warp.broken(0) == by_one.broken(0));
    ++(by_warp.broken(0) ? broken : taken);
    if (!by_warp.broken(0)) REQUIRE(by_warp.pixels(0) == by_one.pixels(0));
  }
  CHECK(broken > 20);
  CHECK(taken > 20);
}

TEST_CASE("A card decodes photos of every form to the host's bytes, wherever they are stored") {
  if (NoCard()) return;
  const TemporaryFolder folder;
  for (const Codec codec : {Codec::kJpeg, Codec::kPacked, Codec::kRaw}) {
    const Dataset dataset = Dataset::Open(WritePhotos(folder, codec));
    LoaderOptions options = OptionsFor(kPhotoBatch, 4);
    options.output.channels = 3;
    options.output.layout = Layout::kNCHW;
    options.transform = {RandomResizedCrop(kImage), HorizontalFlip()};
    for (const bool numbers : {false, true}) {
      if (numbers) options.transform.push_back(Normalize{{0.5F}, {0.25F}, FloatType::kBFloat16});
      options.on_device = {};
      Loader host(dataset, options);
      const std::array expected = {PlayBatches(host, 2), PlayBatches(host, 3), PlayBatches(host, 4),
                                   PlayBatches(host, 5)};
      for (const ImagesIn images : {ImagesIn::kStorage, ImagesIn::kDevice}) {
        for (const DecodeOn decode : {DecodeOn::kDevice, DecodeOn::kAuto}) {
          CAPTURE(int(codec), numbers, int(images), int(decode));
          // Raw pixels from storage are only copied. Pictures that are stored for the device are
          // decoded by the device alone.
          const bool in_storage = images == ImagesIn::kStorage;
          if (in_storage ? codec == Codec::kRaw : decode == DecodeOn::kAuto) continue;
          options.on_device.decode = decode;
          options.on_device.images = images;
          LoaderStats stats;
          // The epochs play while pictures are being stored, and afterwards. Some batches may have
          // been prepared before.
          const std::uint64_t epochs[] = {2, 3, 4, 5};
          // On a busy machine, four epochs may be over before a picture is stored: then they are
          // played again.
          for (int i = 0; i < 10 && stats.device_pictures == 0; ++i) {
            REQUIRE(PlayOnCard(dataset, options, epochs, stats) ==
                    std::vector<std::vector<PlayedBatch>>(expected.begin(), expected.end()));
          }
          // The host decodes again what a device finds broken, so equal bytes alone do not show
          // that the device made them.
          if (decode == DecodeOn::kDevice && in_storage)
            CHECK(stats.device_pictures >= 2 * kPhotos);
          CHECK(stats.device_pictures >= 1);
        }
      }
    }
  }
}

TEST_CASE("A card decodes several views of photos to the host's bytes") {
  if (NoCard()) return;
  const TemporaryFolder folder;
  for (const Codec codec : {Codec::kJpeg, Codec::kPacked}) {
    CAPTURE(int(codec));
    const Dataset dataset = Dataset::Open(WritePhotos(folder, codec));
    LoaderOptions options = OptionsFor(kPhotoBatch, 4);
    options.output.channels = 3;
    options.output.layout = Layout::kNCHW;
    options.transform = {RandomResizedCrop(kImage), HorizontalFlip()};
    options.views = {{"small", {RandomResizedCrop(kImage / 2), HorizontalFlip(), Solarize{}}, {}},
                     {"numbers",
                      {RandomResizedCrop(kImage).scale(0.05, 0.2),
                       Normalize{{0.5F}, {0.25F}, FloatType::kBFloat16}},
                      {}}};
    const std::vector<std::string> views = {"small", "numbers"};
    Loader host(dataset, options);
    options.on_device.decode = DecodeOn::kDevice;
    LoaderStats stats;
    const std::uint64_t epochs[] = {0, 1};
    const auto played = PlayOnCard(dataset, options, epochs, stats, views);
    for (const std::uint64_t epoch : epochs)
      REQUIRE(played[epoch] == PlayBatches(host, epoch, SIZE_MAX, views));
    // The host decodes a packed picture if one decoding for all its views is cheaper.
    if (codec == Codec::kJpeg) CHECK(stats.device_pictures >= 3 * kPhotos);
  }
}

// bench/notebook/device_day.sh runs this test before it times anything.
TEST_CASE("A dataset that the environment names is decoded to the host's bytes") {
  if (NoCard()) return;
  const char* const path = std::getenv("SLUICE_CARD_DATASET");
  if (path == nullptr) {
    std::puts("skipped: SLUICE_CARD_DATASET does not name a dataset");
    return;
  }
  const Dataset dataset = Dataset::Open(path);
  LoaderOptions options = OptionsFor(256, std::nullopt);
  options.output.channels = 3;
  options.output.layout = Layout::kNCHW;
  options.transform = {RandomResizedCrop(224), HorizontalFlip()};
  for (const std::vector<std::string>& views :
       {std::vector<std::string>(), std::vector<std::string>{"small"}}) {
    for (const std::string& view : views)
      options.views = {{view, {RandomResizedCrop(96), HorizontalFlip()}, {}}};
    options.on_device = {};
    Loader host(dataset, options);
    options.on_device.decode = DecodeOn::kDevice;
    for (const ImagesIn images : {ImagesIn::kStorage, ImagesIn::kDevice}) {
      options.on_device.images = images;
      LoaderStats stats;
      const std::uint64_t epochs[] = {0, 1};
      const std::vector<std::vector<PlayedBatch>> played =
          PlayOnCard(dataset, options, epochs, stats, views);
      for (const std::uint64_t epoch : epochs)
        REQUIRE(played[epoch] == PlayBatches(host, epoch, SIZE_MAX, views));
      // Raw pictures that are not in device memory are copied as they are.
      if (images == ImagesIn::kDevice || dataset[0].Payload().codec != Codec::kRaw)
        CHECK(stats.device_pictures > 0);
      std::printf("%s: %llu of %llu pictures decoded by the card\n", path,
                  static_cast<unsigned long long>(stats.device_pictures),
                  static_cast<unsigned long long>(2 * (1 + views.size()) * dataset.size()));
    }
  }
}
