// Packed pictures on a device: which bytes are copied there, and damage. jpeg_decoding_test.cpp
// compares their pixels with the host's.
#include "format/pixels/packed/decoder.h"
#include "format/random.h"
#include "tests/device/jpeg_case.h"

using namespace sluice;
using namespace sluice::test;

namespace {

std::vector<std::byte> PackedPicture(const Picture& picture, int quality, bool subsample = true) {
  JpegOptions options;
  options.quality = quality;
  options.subsample = subsample;
  return PackedOf(MakeJpeg(picture, options));
}

ImagePayload PackedPayload(const std::vector<std::byte>& packed, std::uint32_t width,
                           std::uint32_t height, std::uint32_t channels = 3) {
  return PackedPayloadOf(packed, JpegPayloadOf(packed, width, height, channels));
}

}  // namespace

TEST_CASE("Only the lines of blocks that an image needs are copied to a device") {
  const auto packed = PackedPicture(MakePicture(160, 160), 90);
  JpegParcel parcel;
  const auto rows = [&](const Region& region, std::uint32_t channels) {
    REQUIRE(parcel.Make(PackedPayload(packed, 160, 160), region, channels));
    return parcel.lines().size();
  };
  // The picture has twenty lines of blocks of luma, and ten of each chroma.
  CHECK(rows(Region::Whole(160, 160), 3) == 40);
  CHECK(rows(Region::Whole(160, 160), 1) == 20);
  CHECK(rows(Part(0, 64, 160, 16, 160, 16), 1) == 2);
  CHECK(rows(Part(0, 64, 160, 16, 160, 16), 3) == 2 + 1 + 1);
  CHECK(rows(Part(0, 63, 160, 18, 160, 18), 3) == 4 + 3 + 3);
  std::size_t bytes = 0;
  for (const CodedLine& row : parcel.lines())
    bytes += row.bytes;
  CHECK(bytes < packed.size() / 3);
}

TEST_CASE("Packed rows wider than a warp, and large values in any block, give the host's pixels") {
  Picture picture{600, 40, 3, {}};
  RandomStream random(5, static_cast<Purpose>(999), 0);
  for (std::size_t i = 0; i < std::size_t{600} * 40 * 3; ++i)
    picture.pixels.push_back(random.Word() % 2 == 0 ? 0 : 255);
  for (const int quality : {60, 98, 100}) {
    const auto packed = PackedPicture(picture, quality, false);
    const ImagePayload payload = PackedPayload(packed, 600, 40);
    for (const Region& region : {Part(0, 0, 600, 40, 600, 40), Part(301, 9, 77, 20, 77, 20),
                                 Part(255, 0, 300, 40, 75, 10), Part(590, 0, 10, 40, 3, 5)}) {
      JpegCase images(OneSimulatedDevice(), 3, PixelOrder::kInterleaved);
      REQUIRE(images.Add(payload, region));
      images.Run();
      REQUIRE_FALSE(images.broken(0));
      REQUIRE(images.pixels(0) == OnTheHost(payload, region, 3, PixelOrder::kInterleaved));
    }
  }
}

TEST_CASE(
    "A device refuses every damaged packed row that the host refuses, and reads nothing outside",
    "[no-tsan]") {
  RandomStream random(8, static_cast<Purpose>(999), 1);
  std::size_t taken = 0, broken = 0, only_here = 0;
  for (const int quality : {30, 90, 100}) {
    const auto packed = PackedPicture(MakePicture(48, 48), quality);
    for (int round = 0; round < 1000; ++round) {
      auto damaged = packed;
      for (std::uint64_t flips = 1 + random.Below(4); flips > 0; --flips)
        damaged[random.Below(damaged.size())] ^= std::byte(1U << random.Below(8));
      if (round % 5 == 0) damaged.resize(damaged.size() - random.Below(damaged.size() / 2));
      const ImagePayload payload = PackedPayload(damaged, 48, 48);
      const Region region =
          round % 3 == 0 ? Part(5, 9, 20, 30, 16, 16) : Part(0, 0, 48, 48, 16, 16);
      JpegCase images(OneSimulatedDevice(), 3, PixelOrder::kInterleaved);
      if (!images.Add(payload, region)) continue;
      images.Run();
      packed::Decoder host(kernels::Chosen());
      const bool refused = host.Decode(payload, 3, region) != nullptr;
      CAPTURE(quality, round);
      if (images.broken(0)) {
        // The device also refuses large values that are listed in another order, which the host
        // does not check. The host then decodes the picture again.
        packed::Coefficients all;
        REQUIRE((refused || packed::Unpack(damaged, all) != nullptr));
        ++(refused ? broken : only_here);
        continue;
      }
      REQUIRE_FALSE(refused);
      ++taken;
      REQUIRE(images.pixels(0) == OnTheHost(payload, region, 3, PixelOrder::kInterleaved));
    }
  }
  CHECK(taken > 200);
  CHECK(broken > 200);
  CHECK(only_here > 0);
}
