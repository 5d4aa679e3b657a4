// Raw pictures in device memory, made into images by a device's functions
// (reader/device/raw_pixels.h) on the processor. The host's functions are the reference;
// tests/pixels compares those with formulas.
#include "tests/device/jpeg_case.h"
#include "tests/device/simulated_device.h"

using namespace sluice;
using namespace sluice::test;

namespace {

ImagePayload RawPayloadOf(const Picture& picture) {
  return {Codec::kRaw,   PixelType::kUint8, static_cast<std::uint8_t>(picture.channels),
          picture.width, picture.height,    std::as_bytes(std::span(picture.pixels))};
}

void CheckSame(const Picture& picture, const std::vector<Region>& regions) {
  const auto device = std::make_shared<SimulatedDevice>();
  const ImagePayload payload = RawPayloadOf(picture);
  for (Region region : regions) {
    for (int flips = 0; flips < 4; ++flips) {
      region.flip = flips % 2 == 1;
      region.flip_y = flips / 2 == 1;
      for (const PixelOrder order : {PixelOrder::kInterleaved, PixelOrder::kPlanar}) {
        CAPTURE(picture.width, picture.height, picture.channels, flips, region.x.start,
                region.x.length, region.x.out, region.x.at, region.x.target, region.y.start,
                region.y.length, region.y.out, region.y.at, region.y.target, region.reflect);
        JpegCase images(device, picture.channels, order);
        REQUIRE(images.AddStored(payload, region));
        images.Run();
        REQUIRE_FALSE(images.broken(0));
        REQUIRE(images.pixels(0) == OnTheHost(payload, region, picture.channels, order));
      }
    }
  }
}

// The region's image inside an image of `width` x `height`, after `left` columns and `top` lines of
// border.
Region Bordered(Region region, std::uint32_t left, std::uint32_t top, std::uint32_t width,
                std::uint32_t height, bool reflect) {
  region.x.at = left;
  region.y.at = top;
  region.x.target = width;
  region.y.target = height;
  region.reflect = reflect;
  if (!reflect) region.fill = {7, 200, 91};
  return region;
}

}  // namespace

TEST_CASE("A device copies, resizes and mirrors raw pictures to the host's pixels") {
  for (const std::uint32_t channels : {1U, 3U}) {
    CheckSame(MakePicture(61, 47, channels),
              {Region::Whole(61, 47), Part(5, 9, 20, 30, 20, 30), Part(60, 46, 1, 1, 1, 1),
               Part(0, 0, 61, 47, 30, 24), Part(3.3, 8.7, 41.2, 30.9, 64, 48),
               Part(20, 11, 16, 16, 16, 5), Part(0, 0, 61, 47, 1, 1), Part(0, 0, 1, 1, 5, 3)});
    Region area = Part(2, 1, 55, 44, 20, 13);
    area.filter = Filter::kArea;
    CheckSame(MakePicture(61, 47, channels), {area});
    area = Part(0, 0, 1500, 3, 2, 2);
    CheckSame(MakePicture(1500, 3, channels), {area});
    area.filter = Filter::kArea;
    CheckSame(MakePicture(1500, 3, channels), {area});
    CheckSame(MakePicture(1, 1, channels), {Region::Whole(1, 1), Part(0, 0, 1, 1, 4, 4)});
  }
}

TEST_CASE("A device pads raw pictures with a colour, or with themselves mirrored") {
  const bool reflect = GENERATE(false, true);
  for (const std::uint32_t channels : {1U, 3U}) {
    CheckSame(MakePicture(32, 32, channels),
              {Bordered(Region::Whole(32, 32), 4, 4, 40, 40, reflect),
               Bordered(Part(0, 3, 28, 29, 28, 29), 4, 0, 32, 32, reflect),
               Bordered(Part(5, 5, 20, 20, 9, 11), 1, 20, 30, 31, reflect),
               Bordered(Part(7, 8, 1, 2, 1, 2), 3, 5, 8, 9, reflect)});
  }
}

TEST_CASE("Raw pictures and JPEGs may share a job") {
  const auto device = std::make_shared<SimulatedDevice>();
  JpegOptions form;
  form.restart_rows = 1;
  const auto file = MakeJpeg(MakePicture(50, 41), form);
  const Picture picture = MakePicture(50, 41, 3, 7);
  const Region region = Part(2, 3, 40, 30, 24, 20);
  JpegCase images(device, 3, PixelOrder::kInterleaved);
  const ImagePayload jpeg = JpegPayloadOf(file, 50, 41), raw = RawPayloadOf(picture);
  REQUIRE(images.AddStored(raw, region));
  REQUIRE(images.Add(jpeg, region));
  REQUIRE(images.AddStored(jpeg, region));
  REQUIRE(images.AddStored(raw, region));
  images.Run();
  const auto of_jpeg = OnTheHost(jpeg, region, 3, PixelOrder::kInterleaved);
  const auto of_raw = OnTheHost(raw, region, 3, PixelOrder::kInterleaved);
  REQUIRE(images.pixels(0) == of_raw);
  REQUIRE(images.pixels(1) == of_jpeg);
  REQUIRE(images.pixels(2) == of_jpeg);
  REQUIRE(images.pixels(3) == of_raw);
}

TEST_CASE("Raw pictures with other channels, or turned, are left to the host") {
  const Picture picture = MakePicture(20, 10);
  const ImagePayload payload = RawPayloadOf(picture);
  const std::byte there{};
  const StoredPicture stored{&there, nullptr, nullptr};
  JpegParcel parcel;
  CHECK(parcel.Make(stored, payload, Region::Whole(20, 10), 3));
  CHECK_FALSE(parcel.Make(stored, payload, Region::Whole(20, 10), 1));
  Region turned = Region::Whole(20, 10);
  turned.transpose = true;
  CHECK_FALSE(parcel.Make(stored, payload, turned, 3));
  CHECK_FALSE(parcel.Make(stored, payload, Part(15, 0, 10, 10, 5, 5), 3));
  Region nothing = Region::Whole(20, 10);
  nothing.x.out = 0;
  CHECK_FALSE(parcel.Make(stored, payload, nothing, 3));
}
