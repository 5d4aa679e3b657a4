// Several regions of a JPEG that are decoded together (views): each has the same pixels as when it
// is decoded alone.
#include <cstring>

#include "format/disk/zstd.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/decode.h"
#include "format/random.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/pixels/kernel_sets.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

struct StoredAs {
  std::uint32_t channels;
  int luma_h, luma_v;
  int restart_rows;
  unsigned restart_interval;
};

std::vector<std::byte> ViewedJpeg(const Picture& picture, const StoredAs& as) {
  JpegOptions options;
  options.luma_h = as.luma_h;
  options.luma_v = as.luma_v;
  options.restart_rows = as.restart_rows;
  options.restart_interval = as.restart_interval;
  return MakeJpeg(picture, options);
}

// A random region, enlarged or reduced by random factors.
Region RandomView(std::uint32_t width, std::uint32_t height, RandomStream& random) {
  const auto span = [&random](std::uint32_t size) {
    Span s;
    s.bound_length = static_cast<std::uint32_t>(1 + random.Below(size));
    s.bound = static_cast<std::uint32_t>(random.Below(size - s.bound_length + 1));
    s.start = s.bound;
    s.length = s.bound_length;
    s.out = s.target =
        static_cast<std::uint32_t>(1 + random.Below(1 + size / (1 + random.Below(10))));
    return s;
  };
  Region region{span(width), span(height)};
  region.flip = random.Below(2) == 1;
  region.flip_y = random.Below(2) == 1;
  region.transpose = random.Below(4) == 0;
  return region;
}

std::vector<std::uint8_t> RoomFor(const Region& region) {
  return std::vector<std::uint8_t>(std::size_t{region.width()} * region.height() * 3, 77);
}

ImagePayload ViewedPayload(const std::vector<std::byte>& file, const Picture& picture) {
  return {Codec::kJpeg,  PixelType::kUint8, static_cast<std::uint8_t>(picture.channels),
          picture.width, picture.height,    file};
}

// Compares views with regions decoded one by one.
void CheckViews(const ImagePayload& payload, const std::vector<Region>& regions) {
  PayloadDecoder together, alone;
  together.DecodeViews(payload, regions);
  for (std::size_t i = 0; i < regions.size(); ++i) {
    CAPTURE(i);
    std::vector<std::uint8_t> seen = RoomFor(regions[i]), expected = seen;
    const Defect defect = alone.Decode(payload, regions[i], {expected.data(), 3});
    const Defect same = together.DecodeView(i, payload, regions[i], {seen.data(), 3});
    REQUIRE((defect == nullptr) == (same == nullptr));
    if (defect != nullptr) {
      REQUIRE(std::strcmp(defect, same) == 0);
    } else {
      REQUIRE(seen == expected);
    }
  }
}

}  // namespace

TEST_CASE("Regions decoded together have the samples that each has alone, with every set",
          "[no-asan]") {
  RandomStream random(5, static_cast<Purpose>(999), 0);
  for (const StoredAs& as :
       {StoredAs{3, 2, 2, 1, 0}, StoredAs{3, 1, 1, 1, 0}, StoredAs{3, 2, 1, 2, 0},
        StoredAs{3, 1, 2, 0, 5}, StoredAs{1, 1, 1, 1, 0}, StoredAs{1, 1, 1, 0, 300}}) {
    const Picture picture = MakePicture(263, 197, as.channels);
    const std::vector<std::byte> file = ViewedJpeg(picture, as);
    for (const kernels::Kernels* set : DecodingSets()) {
      CAPTURE(set->name, as.channels, as.luma_h, as.luma_v, as.restart_interval);
      baseline::Decoder together(*set), alone(*set);
      PlanarResampler planar(*set);
      std::size_t read_together = 0;
      for (int turn = 0; turn < (kSanitized ? 4 : 12); ++turn) {
        std::vector<Region> regions;
        for (std::uint64_t count = 2 + random.Below(9); regions.size() < count;)
          regions.push_back(RandomView(picture.width, picture.height, random).Upright());
        const std::size_t decoded = together.DecodeViews(file, 263, 197, regions);
        read_together += decoded;
        for (std::size_t i = 0; i < decoded; ++i) {
          CAPTURE(turn, i);
          std::vector<std::uint8_t> seen = RoomFor(regions[i]), expected = seen;
          REQUIRE(alone.Decode(file, 263, 197, regions[i]));
          planar.Run(alone.planes(), alone.components(), regions[i], {expected.data(), 3});
          planar.Run(together.view_planes(i), together.components(), regions[i], {seen.data(), 3});
          REQUIRE(seen == expected);
        }
      }
      CHECK(read_together > (kSanitized ? 8 : 30));
    }
  }
}

TEST_CASE("A zstd picture is inflated once for all its views, and for no later picture") {
  RandomStream random(7, static_cast<Purpose>(999), 0);
  const Picture picture = MakePicture(101, 80);
  const Bytes plain = std::as_bytes(std::span(picture.pixels));
  std::vector<std::byte> frame = ZstdCompress(plain);
  const ImagePayload zstd{Codec::kZstd, PixelType::kUint8, 3, 101, 80, frame};
  const ImagePayload raw{Codec::kRaw, PixelType::kUint8, 3, 101, 80, plain};
  std::vector<Region> regions;
  while (regions.size() < 5)
    regions.push_back(RandomView(101, 80, random));
  CheckViews(zstd, regions);
  PayloadDecoder together, alone;
  together.DecodeViews(zstd, regions);
  frame.back() ^= std::byte{1};
  frame[frame.size() / 2] ^= std::byte{1};
  for (std::size_t i = 0; i < regions.size(); ++i) {
    std::vector<std::uint8_t> seen = RoomFor(regions[i]), expected = seen;
    REQUIRE(alone.Decode(raw, regions[i], {expected.data(), 3}) == nullptr);
    REQUIRE(together.DecodeView(i, zstd, regions[i], {seen.data(), 3}) == nullptr);
    REQUIRE(seen == expected);
  }
  std::vector<std::uint8_t> room = RoomFor(regions[0]);
  CHECK(together.Decode(zstd, regions[0], {room.data(), 3}) != nullptr);
}

TEST_CASE("Views of any JPEG have the pixels of regions decoded one by one") {
  RandomStream random(6, static_cast<Purpose>(999), 0);
  const Picture picture = MakePicture(301, 220);
  JpegOptions progressive, rgb, without_markers, own_tables;
  progressive.progressive = true;
  rgb.stored = JCS_RGB;
  own_tables.optimise = true;
  own_tables.restart_rows = 1;
  for (const JpegOptions& options : {progressive, rgb, without_markers, own_tables}) {
    const std::vector<std::byte> file = MakeJpeg(picture, options);
    std::vector<Region> regions;
    for (int i = 0; i < 6; ++i)
      regions.push_back(RandomView(301, 220, random));
    regions[2].x.out = 0;                                             // nothing but border
    regions[4].x.at = 3, regions[4].x.target = regions[4].x.out + 9;  // a border
    CheckViews(ViewedPayload(file, picture), regions);
  }
}

TEST_CASE("With broken data, each view has the pixels or the error that it has alone") {
  RandomStream random(7, static_cast<Purpose>(999), 0);
  const Picture picture = MakePicture(240, 200);
  const std::vector<std::byte> sound = ViewedJpeg(picture, {3, 2, 2, 1, 0});
  for (int turn = 0; turn < 60; ++turn) {
    std::vector<std::byte> file = sound;
    if (turn % 3 == 0) {
      file.resize(file.size() / 2 + random.Below(file.size() / 2));
    } else {
      file[700 + random.Below(file.size() - 700)] ^= std::byte{0x41};
    }
    std::vector<Region> regions;
    for (int i = 0; i < 4; ++i)
      regions.push_back(RandomView(240, 200, random));
    CAPTURE(turn);
    CheckViews(ViewedPayload(file, picture), regions);
  }
}

TEST_CASE("Views that would take much memory are decoded alone, and so are views far apart") {
  const Picture picture = MakePicture(256, 256);
  const std::vector<std::byte> file = ViewedJpeg(picture, {3, 2, 2, 1, 0});
  baseline::Decoder decoder(kernels::Chosen());
  const std::vector<Region> whole(9, Region::Whole(256, 256));
  const std::size_t decoded = decoder.DecodeViews(file, 256, 256, whole);
  CHECK(decoded > 1);
  // Each takes 1.5 bytes a pixel, and some room between planes; together at most 8 (kViewBytes).
  CHECK(decoded < 6);
  Region top = Region::Whole(256, 256), bottom = top;
  top.y.length = top.y.bound_length = bottom.y.length = bottom.y.bound_length = 30;
  bottom.y.start = bottom.y.bound = 220;
  CHECK(decoder.DecodeViews(file, 256, 256, std::vector<Region>{top, bottom}) == 0);
  bottom.y.start = bottom.y.bound = 25;
  CHECK(decoder.DecodeViews(file, 256, 256, std::vector<Region>{top, bottom}) == 2);
  CHECK(decoder.DecodeViews(file, 256, 256, std::vector<Region>{top}) == 0);
}
