// The baseline JPEG decoder against libjpeg: the same planes bit for bit, for every sampling, table
// and region.
#include <algorithm>
#include <cstring>

#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/jpeg.h"
#include "format/random.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/pixels/kernel_sets.h"

using namespace sluice;
using namespace sluice::test;

namespace {

struct Sampling {
  int h, v;
};

// A JPEG with these luma factors and a restart interval in MCUs.
std::vector<std::byte> Encode(const Picture& picture, Sampling sampling, unsigned restart,
                              int quality = 90, bool optimise = false) {
  JpegOptions options;
  options.luma_h = sampling.h;
  options.luma_v = sampling.v;
  options.restart_interval = restart;
  options.quality = quality;
  options.optimise = optimise;
  return MakeJpeg(picture, options);
}

// Returns whether both decodings' planes agree in the parts that the region needs.
bool SamePlanes(const ColumnPlane* a, const ColumnPlane* b, std::uint32_t components) {
  for (std::uint32_t c = 0; c < components; ++c) {
    if (a[c].x.first != b[c].x.first || a[c].x.last != b[c].x.last ||
        a[c].y.first != b[c].y.first || a[c].y.last != b[c].y.last) {
      return false;
    }
    for (std::uint32_t x = a[c].x.first; x < a[c].x.last; ++x) {
      const std::uint8_t* in_a =
          a[c].data + (x - a[c].left) * a[c].stride + (a[c].y.first - a[c].top);
      const std::uint8_t* in_b =
          b[c].data + (x - b[c].left) * b[c].stride + (b[c].y.first - b[c].top);
      if (std::memcmp(in_a, in_b, a[c].y.last - a[c].y.first) != 0) return false;
    }
  }
  return true;
}

Region Crop(std::uint32_t left, std::uint32_t top, std::uint32_t width, std::uint32_t height,
            std::uint32_t out) {
  return {{double(left), double(width), left, width, out, 0, out},
          {double(top), double(height), top, height, out, 0, out},
          false};
}

// Full contrast in every frequency: overflows a transform with too narrow arithmetic.
Picture Extreme(std::uint32_t channels, std::uint64_t seed) {
  Picture picture{64, 64, channels, {}};
  RandomStream random(seed, static_cast<Purpose>(999), 0);
  for (std::size_t i = 0; i < std::size_t{64} * 64 * channels; ++i) {
    picture.pixels.push_back(random.Word() % 2 == 0 ? 0 : 255);
  }
  return picture;
}

}  // namespace

TEST_CASE(
    "Every sampling and restart interval gives libjpeg's planes bit for bit, whole and in part") {
  for (const Sampling sampling : {Sampling{1, 1}, Sampling{2, 1}, Sampling{1, 2}, Sampling{2, 2}}) {
    for (const std::uint32_t channels : {1U, 3U}) {
      for (const unsigned restart : {0U, 1U, 3U, 13U, 16U, 100U}) {
        const Picture picture = MakePicture(203, 157, channels, restart + 1);
        const auto file = Encode(picture, sampling, restart);
        for (const Region& region :
             {Region::Whole(203, 157), Crop(0, 0, 203, 157, 100), Crop(50, 40, 100, 90, 64),
              Crop(190, 150, 13, 7, 16), Crop(0, 100, 30, 57, 30), Crop(7, 3, 1, 1, 1)}) {
          JpegPlanes reference(kernels::Chosen());
          if (reference.Decode(file, 203, 157, region) != JpegPlanes::Outcome::kDecoded) {
            FAIL("libjpeg refused it");
          }
          for (const kernels::Kernels* set : DecodingSets()) {
            baseline::Decoder decoder(*set);
            INFO(set->name << " " << sampling.h << "x" << sampling.v << " restart " << restart);
            REQUIRE(decoder.Decode(file, 203, 157, region));
            REQUIRE(SamePlanes(decoder.planes(), reference.planes(), channels));
          }
        }
      }
    }
  }
}

TEST_CASE(
    "Qualities from 1 to 100 and optimised tables, which change between pictures, give libjpeg's "
    "planes") {
  std::vector<baseline::Decoder> decoders;
  for (const kernels::Kernels* set : DecodingSets())
    decoders.emplace_back(*set);
  for (const bool optimise : {false, true, false}) {
    for (const int quality : {1, 10, 50, 75, 90, 95, 100}) {
      const Picture picture = MakePicture(90, 70, 3, static_cast<std::uint64_t>(quality));
      const auto file = Encode(picture, {2, 2}, 6, quality, optimise);
      JpegPlanes reference(kernels::Chosen());
      REQUIRE(reference.Decode(file, 90, 70, Region::Whole(90, 70)) ==
              JpegPlanes::Outcome::kDecoded);
      for (baseline::Decoder& decoder : decoders) {
        REQUIRE(decoder.Decode(file, 90, 70, Region::Whole(90, 70)));
        REQUIRE(SamePlanes(decoder.planes(), reference.planes(), 3));
      }
    }
  }
}

TEST_CASE("Blocks of extreme contrast clamp as libjpeg's do, and never wrap") {
  for (const int quality : {1, 20, 60, 100}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Picture picture = Extreme(1, seed);
      const auto file = Encode(picture, {1, 1}, 0, quality);
      const Picture expected = DecodeJpeg(file, 1);
      for (const kernels::Kernels* set : DecodingSets()) {
        baseline::Decoder decoder(*set);
        REQUIRE(decoder.Decode(file, 64, 64, Region::Whole(64, 64)));
        const ColumnPlane& plane = decoder.planes()[0];
        for (std::uint32_t y = 0; y < 64; ++y) {
          for (std::uint32_t x = 0; x < 64; ++x) {
            REQUIRE(plane.data[x * plane.stride + y] == *expected.at(x, y));
          }
        }
      }
    }
  }
}

TEST_CASE("Reduced samples are near the means of pixels (32 dB), and the same with all kernels") {
  const Picture picture = MakePicture(128, 96, 1);
  const auto file = Encode(picture, {1, 1}, 16, 100);
  for (const std::uint32_t reduction : {2U, 4U, 8U}) {
    const Region region = {{0, 128, 0, 128, 128 / reduction, 0, 128 / reduction},
                           {0, 96, 0, 96, 96 / reduction, 0, 96 / reduction},
                           false};
    std::vector<std::vector<std::uint8_t>> planes;
    for (const kernels::Kernels* set : DecodingSets()) {
      baseline::Decoder decoder(*set);
      REQUIRE(decoder.Decode(file, 128, 96, region));
      const ColumnPlane& plane = decoder.planes()[0];
      double squares = 0;
      std::vector<std::uint8_t> samples;
      for (std::uint32_t y = 0; y < 96 / reduction; ++y) {
        for (std::uint32_t x = 0; x < 128 / reduction; ++x) {
          double mean = 0;
          for (std::uint32_t i = 0; i < reduction * reduction; ++i) {
            mean += *picture.at(x * reduction + i % reduction, y * reduction + i / reduction);
          }
          mean /= reduction * reduction;
          samples.push_back(plane.data[x * plane.stride + y]);
          squares += (mean - samples.back()) * (mean - samples.back());
        }
      }
      CHECK(squares / double(samples.size()) < 40);  // 32 dB: the decoder's filter is not a mean
      planes.push_back(samples);
    }
    for (const auto& samples : planes)
      REQUIRE(samples == planes[0]);
  }
}

TEST_CASE("Files that the decoder does not support are left to libjpeg") {
  baseline::Decoder decoder(kernels::Chosen());
  const Picture picture = MakePicture(40, 30, 3);
  JpegOptions options;
  options.progressive = true;
  CHECK_FALSE(decoder.Decode(MakeJpeg(picture, options), 40, 30, Region::Whole(40, 30)));
  options.progressive = false;
  options.stored = JCS_RGB;
  auto rgb = MakeJpeg(picture, options);
  CHECK_FALSE(decoder.Decode(rgb, 40, 30, Region::Whole(40, 30)));
  // A JFIF marker means Y Cb Cr, but libjpeg ignores one that is too short.
  const std::vector<std::byte> marker = {std::byte{0xFF}, std::byte{0xE0}, std::byte{0},
                                         std::byte{7},    std::byte{'J'},  std::byte{'F'},
                                         std::byte{'I'},  std::byte{'F'},  std::byte{0}};
  rgb.insert(rgb.begin() + 2, marker.begin(), marker.end());
  CHECK_FALSE(decoder.Decode(rgb, 40, 30, Region::Whole(40, 30)));
  // Sampling factors mean nothing in a grey picture, but each must be 1 to 4.
  auto grey = MakeJpeg(MakePicture(40, 30, 1));
  const std::vector<std::byte> frame = {std::byte{0xFF}, std::byte{0xC0}};
  const auto factors = std::search(grey.begin(), grey.end(), frame.begin(), frame.end()) + 11;
  *factors = std::byte{0x22};
  CHECK(decoder.Decode(grey, 40, 30, Region::Whole(40, 30)));
  for (const int odd : {0x01, 0x10, 0x15, 0x51}) {
    *factors = static_cast<std::byte>(odd);
    CHECK_FALSE(decoder.Decode(grey, 40, 30, Region::Whole(40, 30)));
  }
  CHECK_FALSE(decoder.Decode(MakeJpeg(MakePicture(40, 30, 4)), 40, 30, Region::Whole(40, 30)));
  const auto file = MakeJpeg(picture);
  CHECK_FALSE(decoder.Decode(file, 41, 30, Region::Whole(41, 30)));
  CHECK(decoder.Decode(file, 40, 30, Region::Whole(40, 30)));
}
