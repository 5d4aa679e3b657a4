// JPEGs, and packed pictures with the same coefficients, decoded by a device's functions
// (reader/device/jpeg_*.h, packed_lines.h) on the processor. The host's decoder is the reference;
// tests/pixels compares that with libjpeg.
#include <algorithm>
#include <cmath>

#include "format/pixels/baseline/scan_decoder.h"
#include "format/random.h"
#include "tests/device/jpeg_case.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// A JPEG of the form that our writer stores.
std::vector<std::byte> Stored(const Picture& picture, int h = 2, int v = 2, int quality = 90) {
  JpegOptions options;
  options.luma_h = h;
  options.luma_v = v;
  options.quality = quality;
  options.restart_rows = 1;
  return MakeJpeg(picture, options);
}

// Compares the images of these regions, whose sizes may differ, with the host's: decoded from a
// JPEG, from its packed form, and from the JPEG in device memory.
void CheckSame(const ImagePayload& payload, const std::vector<Region>& regions) {
  const std::vector<std::byte> packed = PackedOf(payload.bytes);
  for (const Region& region : regions) {
    for (const std::uint32_t channels : {1U, 3U}) {
      for (const PixelOrder order : {PixelOrder::kInterleaved, PixelOrder::kPlanar}) {
        CAPTURE(payload.width, payload.height, region.x.start, region.x.length, region.x.out,
                region.y.start, region.y.length, region.y.out, channels);
        JpegCase images(OneSimulatedDevice(), channels, order);
        REQUIRE(images.Add(payload, region));
        REQUIRE(images.Add(PackedPayloadOf(packed, payload), region));
        images.Run();
        const std::vector<std::uint8_t> expected = OnTheHost(payload, region, channels, order);
        for (const std::size_t form : {0U, 1U}) {
          CAPTURE(form);
          REQUIRE_FALSE(images.broken(form));
          REQUIRE(images.pixels(form) == expected);
        }
        JpegCase stored(OneSimulatedDevice(), channels, order);
        REQUIRE(stored.AddStored(payload, region));
        stored.Run();
        REQUIRE_FALSE(stored.broken(0));
        REQUIRE(stored.pixels(0) == expected);
      }
    }
  }
}

}  // namespace

TEST_CASE("A device gives the host's pixels, for every sampling and at every edge") {
  struct Sampling {
    int h, v;
  };
  for (const Sampling sampling : {Sampling{1, 1}, Sampling{2, 1}, Sampling{1, 2}, Sampling{2, 2}}) {
    for (const std::uint32_t channels : {1U, 3U}) {
      const auto file = Stored(MakePicture(203, 157, channels), sampling.h, sampling.v);
      CheckSame(JpegPayloadOf(file, 203, 157, channels),
                {Region::Whole(203, 157), Part(0, 0, 203, 157, 100, 64),
                 Part(50.3, 40.7, 99.2, 88.9, 64, 48), Part(190, 150, 13, 7, 16, 16),
                 Part(0, 100, 30, 57, 30, 31), Part(202, 156, 1, 1, 1, 1), Part(0, 0, 1, 1, 5, 3),
                 Part(7, 0, 190, 16, 3, 90)});
    }
  }
}

TEST_CASE("A device decodes at the reduced sizes that the host chooses") {
  const auto file = Stored(MakePicture(320, 272));
  std::vector<Region> regions;
  for (const std::uint32_t out : {320U, 161U, 160U, 80U, 41U, 40U, 20U, 7U, 1U})
    regions.push_back(Part(0, 0, 320, 272, out, out * 272 / 320 + 1));
  regions.push_back(Part(33, 17, 256, 255, 32, 120));  // reduced differently on each axis
  for (const std::uint32_t out : {125U, 62U, 31U})     // edges off the grids of 2, 4 and 8 pixels
    regions.push_back(Part(21, 7, 253, 259, out, out));
  CheckSame(JpegPayloadOf(file, 320, 272), regions);
  Region area = Part(3, 5, 300, 260, 50, 50);
  area.filter = Filter::kArea;
  CheckSame(JpegPayloadOf(file, 320, 272), {area});
}

TEST_CASE("A device decodes only the parts of rows that a region touches") {
  for (const unsigned interval : {2U, 4U, 6U}) {  // of a row of 12 MCUs
    const Picture picture = MakePicture(190, 64);
    JpegOptions options;
    options.restart_interval = interval;
    const auto file = MakeJpeg(picture, options);
    const ImagePayload payload = JpegPayloadOf(file, 190, 64);
    CheckSame(payload, {Region::Whole(190, 64), Part(70, 20, 50, 30, 20, 20),
                        Part(96, 0, 32, 64, 32, 64), Part(180, 60, 10, 4, 8, 8)});
    JpegParcel parcel;
    REQUIRE(parcel.Make(payload, Part(100, 17, 20, 10, 20, 10), 3));  // MCUs 6 and 7 of a row
    CHECK(parcel.lines().size() == 1);
    CHECK(parcel.lines()[0].number == 12 / interval + 6 / interval);
  }
}

TEST_CASE("A JPEG of very many restart markers is left to the host") {
  JpegOptions options;
  options.luma_h = options.luma_v = 1;
  const Picture grey{400, 8, 3, std::vector<std::uint8_t>(400 * 8 * 3, 128)};
  for (const unsigned interval : {1U, 50U}) {  // of 50 MCUs
    options.restart_interval = interval;
    const auto file = MakeJpeg(grey, options);
    REQUIRE(MostCodedLines(8, file.size()) < 50);
    JpegParcel parcel;
    CHECK(parcel.Make(JpegPayloadOf(file, 400, 8), Region::Whole(400, 8), 3) == (interval == 50));
  }
}

TEST_CASE("A device decodes pictures of any size, and mirrors them") {
  for (std::uint32_t width = 1; width < 40; width += 3) {
    for (const std::uint32_t height : {1U, 2U, 8U, 9U, 17U, 31U}) {
      const auto file = Stored(MakePicture(width, height));
      Region region = Region::Whole(width, height);
      region.flip = width % 2 == 0;
      region.flip_y = height % 2 == 0;
      CheckSame(JpegPayloadOf(file, width, height), {region, Part(0, 0, width, height, 11, 6)});
    }
  }
}

TEST_CASE(
    "Blocks of extreme contrast, and the lowest and highest quality, give the host's pixels") {
  Picture picture{64, 64, 3, {}};
  RandomStream random(9, static_cast<Purpose>(999), 0);
  for (std::size_t i = 0; i < std::size_t{64} * 64 * 3; ++i)
    picture.pixels.push_back(random.Word() % 2 == 0 ? 0 : 255);
  for (const int quality : {1, 20, 60, 100}) {
    const auto file = Stored(picture, 2, 2, quality);
    CheckSame(JpegPayloadOf(file, 64, 64),
              {Region::Whole(64, 64), Part(0, 0, 64, 64, 32, 32), Part(0, 0, 64, 64, 16, 16)});
  }
}

TEST_CASE("Pictures of several forms may share a job") {
  JpegCase images(OneSimulatedDevice(), 3, PixelOrder::kInterleaved);
  std::vector<std::vector<std::byte>> files;
  std::vector<ImagePayload> payloads;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const Picture picture = MakePicture(60 + 31 * i, 90 - 11 * i, i % 2 == 0 ? 3 : 1, i);
    files.push_back(i == 3 ? MakeJpeg(picture) : Stored(picture, 1 + i % 2, 1));
  }
  for (std::uint32_t i = 0; i < 6; ++i)
    payloads.push_back(JpegPayloadOf(files[i], 60 + 31 * i, 90 - 11 * i, i % 2 == 0 ? 3 : 1));
  const auto region = [&](std::size_t i) {
    return Part(1, 2, payloads[i].width - 1, payloads[i].height - 3, 24, 20);
  };
  for (std::size_t i = 0; i < 6; ++i)
    REQUIRE(images.Add(payloads[i], region(i)) == (i != 3));
  images.Run();
  for (std::size_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    REQUIRE_FALSE(images.broken(i));
    if (i == 3) {  // no restart markers: left to the host, so the image is unwritten
      REQUIRE(images.pixels(i) == std::vector<std::uint8_t>(24 * 20 * 3, 0x5A));
    } else {
      REQUIRE(images.pixels(i) == OnTheHost(payloads[i], region(i), 3, PixelOrder::kInterleaved));
    }
  }
}

TEST_CASE("Pictures of another form, or with a border, are left to the host") {
  const Picture picture = MakePicture(50, 40);
  JpegParcel parcel;
  const auto takes = [&](const JpegOptions& options, const Region& region) {
    const auto file = MakeJpeg(picture, options);
    return parcel.Make(JpegPayloadOf(file, 50, 40), region, 3);
  };
  const Region whole = Region::Whole(50, 40);
  JpegOptions form;
  form.restart_rows = 1;
  REQUIRE(takes(form, whole));
  JpegOptions other = form;
  other.progressive = true;
  CHECK_FALSE(takes(other, whole));
  other = form;
  other.optimise = true;
  CHECK_FALSE(takes(other, whole));
  other = form;
  other.stored = JCS_RGB;
  CHECK_FALSE(takes(other, whole));
  CHECK_FALSE(takes({}, whole));  // no restart markers
  other = {};
  other.restart_interval = 3;
  CHECK_FALSE(takes(other, whole));
  Region turned = whole;
  turned.transpose = true;
  CHECK_FALSE(takes(form, turned));
  Region bordered = whole;
  bordered.x.target = 60;
  CHECK_FALSE(takes(form, bordered));
  CHECK_FALSE(takes(form, Part(10, 10, 50, 20, 8, 8)));  // outside
  Region nothing = whole;
  nothing.y.out = nothing.y.target = 0;
  CHECK_FALSE(takes(form, nothing));
  const auto file = MakeJpeg(picture, form);
  CHECK_FALSE(parcel.Make(JpegPayloadOf(file, 51, 40), Region::Whole(51, 40), 3));
  CHECK_FALSE(parcel.Make(JpegPayloadOf(file, 50, 40), whole, 4));
  ImagePayload other_codec = JpegPayloadOf(file, 50, 40);
  other_codec.codec = Codec::kPacked;
  CHECK_FALSE(parcel.Make(other_codec, whole, 3));
  const auto packed = PackedOf(file);
  other_codec.bytes = packed;
  CHECK(parcel.Make(other_codec, whole, 3));
  CHECK_FALSE(parcel.Make(other_codec, turned, 3));
  CHECK_FALSE(parcel.Make(other_codec, bordered, 3));
  other_codec.width = 51;
  CHECK_FALSE(parcel.Make(other_codec, Region::Whole(51, 40), 3));
}

TEST_CASE("A row is broken if its bits are not a code, also at the beginning of a block") {
  std::vector<std::byte> file = Stored(MakePicture(8, 8, 1));
  // One block, with only ones in place of its first code; after 16 of them no bits are left.
  const std::byte start_of_scan[] = {std::byte{0xFF}, std::byte{0xDA}};
  const auto scan = std::search(file.begin(), file.end(), start_of_scan, start_of_scan + 2) + 10;
  file.erase(scan, file.end());
  for (const int byte : {0xFF, 0x00, 0xFF, 0x00, 0xFF, 0xD9})
    file.push_back(static_cast<std::byte>(byte));
  JpegCase images(OneSimulatedDevice(), 1, PixelOrder::kInterleaved);
  REQUIRE(images.Add(JpegPayloadOf(file, 8, 8, 1), Region::Whole(8, 8)));
  images.Run();
  CHECK(images.broken(0));
}

TEST_CASE("A device finds the same rows broken as the host, and reads nothing outside them",
          "[no-tsan]") {
  const Picture picture = MakePicture(48, 48);
  RandomStream random(7, static_cast<Purpose>(999), 1);
  std::size_t taken = 0, broken = 0;
  for (const int quality : {30, 90}) {
    const auto file = Stored(picture, 2, 2, quality);
    for (int round = 0; round < (kSanitized ? 500 : 1500); ++round) {
      auto damaged = file;
      for (std::uint64_t flips = 1 + random.Below(4); flips > 0; --flips) {
        const std::uint64_t at =
            round % 2 == 0 ? random.Below(damaged.size()) : damaged.size() - 1 - random.Below(400);
        damaged[at] ^= std::byte(1U << random.Below(8));
      }
      if (round % 5 == 0) damaged.resize(damaged.size() - random.Below(damaged.size() / 2));
      const ImagePayload payload = JpegPayloadOf(damaged, 48, 48);
      const Region region =
          round % 3 == 0 ? Part(5, 9, 20, 30, 16, 16) : Part(0, 0, 48, 48, 16, 16);
      JpegCase images(OneSimulatedDevice(), 3, PixelOrder::kInterleaved);
      if (!images.Add(payload, region)) continue;
      images.Run();
      baseline::Decoder host(kernels::Chosen());
      CAPTURE(quality, round);
      REQUIRE(images.broken(0) != host.Decode(damaged, 48, 48, region));
      ++(images.broken(0) ? broken : taken);
      JpegCase stored(OneSimulatedDevice(), 3, PixelOrder::kInterleaved);
      if (stored.AddStored(payload, region)) {
        stored.Run();
        REQUIRE(stored.broken(0) == images.broken(0));
        REQUIRE((stored.broken(0) || stored.pixels(0) == images.pixels(0)));
      }
      if (!images.broken(0))
        REQUIRE(images.pixels(0) == OnTheHost(payload, region, 3, PixelOrder::kInterleaved));
    }
  }
  CHECK(taken > (kSanitized ? 60 : 200));
  CHECK(broken > (kSanitized ? 60 : 200));
}
