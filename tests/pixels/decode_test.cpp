// From a stored payload to pixels: whole pictures, crops, sizes, channels and layouts, for every
// codec.
#include "format/pixels/decode.h"

#include <cmath>
#include <cstring>

#include "format/disk/zstd.h"
#include "tests/catch.h"
#include "tests/pictures.h"

using namespace sluice;
using namespace sluice::test;

namespace {

ImagePayload JpegPayload(const std::vector<std::byte>& file, const Picture& picture) {
  return {
      Codec::kJpeg,  PixelType::kUint8, static_cast<std::uint8_t>(picture.channels == 1 ? 1 : 3),
      picture.width, picture.height,    file};
}

ImagePayload RawPayload(const Picture& picture) {
  return {Codec::kRaw,   PixelType::kUint8, static_cast<std::uint8_t>(picture.channels),
          picture.width, picture.height,    std::as_bytes(std::span(picture.pixels))};
}

std::vector<std::uint8_t> Decode(const ImagePayload& payload, const Region& region,
                                 std::uint32_t channels,
                                 PixelOrder order = PixelOrder::kInterleaved) {
  std::vector<std::uint8_t> out(std::size_t{region.x.target} * region.y.target * channels, 77);
  PayloadDecoder decoder;
  const Defect defect = decoder.Decode(payload, region, {out.data(), channels, order});
  INFO(std::string(defect == nullptr ? "" : defect));
  REQUIRE(defect == nullptr);
  return out;
}

// The crop resized with a triangle filter in double precision, like torchvision's antialias: it
// reads nothing outside the crop.
std::vector<double> ExactCrop(const Picture& picture, std::uint32_t left, std::uint32_t top,
                              std::uint32_t width, std::uint32_t height, std::uint32_t out) {
  const auto weights = [](std::uint32_t size, std::uint32_t to, std::uint32_t i) {
    const double scale = double(size) / to;
    const double reach = std::max(1.0, scale);
    std::vector<double> w(size);
    double sum = 0;
    for (std::uint32_t s = 0; s < size; ++s) {
      w[s] = std::max(0.0, 1 - std::fabs(s + 0.5 - (i + 0.5) * scale) / reach);
      sum += w[s];
    }
    for (double& v : w)
      v /= sum;
    return w;
  };
  std::vector<double> result;
  for (std::uint32_t j = 0; j < out; ++j) {
    const auto wy = weights(height, out, j);
    for (std::uint32_t i = 0; i < out; ++i) {
      const auto wx = weights(width, out, i);
      for (std::uint32_t c = 0; c < picture.channels; ++c) {
        double sum = 0;
        for (std::uint32_t y = 0; y < height; ++y) {
          if (wy[y] == 0) continue;
          for (std::uint32_t x = 0; x < width; ++x) {
            if (wx[x] != 0) sum += wy[y] * wx[x] * picture.at(left + x, top + y)[c];
          }
        }
        result.push_back(sum);
      }
    }
  }
  return result;
}

double Psnr(const std::vector<double>& exact, const std::vector<std::uint8_t>& got) {
  double squares = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    squares += std::pow(exact[i] - got[i], 2);
  return 10 * std::log10(255.0 * 255.0 * double(exact.size()) / squares);
}

Region CropTo(std::uint32_t left, std::uint32_t top, std::uint32_t width, std::uint32_t height,
              std::uint32_t out) {
  return {{double(left), double(width), left, width, out, 0, out},
          {double(top), double(height), top, height, out, 0, out},
          false};
}

}  // namespace

TEST_CASE(
    "A whole JPEG decodes to libjpeg's pixels: exactly, except for the rounding of halved chroma") {
  for (const std::uint32_t channels : {1U, 3U}) {
    for (const bool progressive : {false, true}) {
      for (const bool subsample : {false, true}) {
        const Picture picture = MakePicture(123, 77, channels);
        JpegOptions options;
        options.progressive = progressive;
        options.subsample = subsample;
        options.restart_rows = progressive ? 0 : 1;
        const auto file = MakeJpeg(picture, options);
        const auto out = Decode(JpegPayload(file, picture), Region::Whole(123, 77), channels);
        const int allowed = channels == 3 && subsample ? kChromaRounding : 0;
        REQUIRE(LargestDifference(out, DecodeJpeg(file, channels).pixels) <= allowed);
      }
    }
  }
}

TEST_CASE("4:2:2, 4:4:0, and Cb and Cr with different sampling decode to libjpeg's pixels") {
  struct Factors {
    int h, v;
  };
  struct Case {
    Factors luma, cb, cr;
  };
  const Picture picture = MakePicture(61, 83);
  for (const Case& c :
       {Case{{2, 1}, {1, 1}, {1, 1}}, Case{{1, 2}, {1, 1}, {1, 1}}, Case{{2, 2}, {1, 1}, {1, 2}},
        Case{{2, 2}, {1, 2}, {1, 1}}, Case{{2, 2}, {1, 1}, {2, 1}}, Case{{2, 2}, {2, 1}, {1, 2}}}) {
    const auto file = EncodeJpegWith(picture, [&c](jpeg_compress_struct& object) {
      int component = 0;
      for (const Factors& factors : {c.luma, c.cb, c.cr}) {
        object.comp_info[component].h_samp_factor = factors.h;
        object.comp_info[component++].v_samp_factor = factors.v;
      }
    });
    INFO("Cb " << c.cb.h << "x" << c.cb.v << ", Cr " << c.cr.h << "x" << c.cr.v);
    const auto out = Decode(JpegPayload(file, picture), Region::Whole(61, 83), 3);
    CHECK(LargestDifference(out, DecodeJpeg(file).pixels) <= kChromaRounding);
  }
}

TEST_CASE("A grey JPEG becomes RGB and a colour one grey on request") {
  const Picture grey = MakePicture(40, 30, 1);
  const auto grey_file = MakeJpeg(grey);
  REQUIRE(Decode(JpegPayload(grey_file, grey), Region::Whole(40, 30), 3) ==
          DecodeJpeg(grey_file, 3).pixels);
  const Picture colour = MakePicture(40, 30, 3);
  const auto colour_file = MakeJpeg(colour);
  REQUIRE(Decode(JpegPayload(colour_file, colour), Region::Whole(40, 30), 1) ==
          DecodeJpeg(colour_file, 1).pixels);
}

TEST_CASE("A crop of a JPEG, resized, is close to a whole decode resized in double precision") {
  const Picture picture = MakePicture(400, 300, 3);
  const auto file = MakeJpeg(picture);
  const Picture whole = DecodeJpeg(file);
  struct Case {
    std::uint32_t left, top, width, height, out;
    double decibels;  // 8-bit rounding alone gives about 58.9; the goal for photos is 49 on average
  };
  // Crops of at least twice the output's size are decoded at half the size, by another filter.
  for (const Case& c : {Case{0, 0, 400, 300, 224, 49}, Case{37, 21, 250, 260, 224, 49},
                        Case{101, 99, 50, 60, 112, 49}, Case{399, 299, 1, 1, 8, 49},
                        Case{0, 0, 400, 300, 100, 40}, Case{16, 16, 320, 272, 64, 40}}) {
    const auto out =
        Decode(JpegPayload(file, picture), CropTo(c.left, c.top, c.width, c.height, c.out), 3);
    INFO(c.left << "," << c.top << " " << c.width << "x" << c.height << " -> " << c.out);
    CHECK(Psnr(ExactCrop(whole, c.left, c.top, c.width, c.height, c.out), out) > c.decibels);
  }
}

TEST_CASE("A crop that is not resized has the whole picture's pixels, mirrored on request") {
  const Picture picture = MakePicture(150, 120, 3);
  const auto file = MakeJpeg(picture);
  Picture whole = picture;
  whole.pixels = Decode(JpegPayload(file, picture), Region::Whole(150, 120), 3);
  for (const bool flip : {false, true}) {
    for (const auto& payload : {RawPayload(whole), JpegPayload(file, picture)}) {
      Region region = CropTo(33, 47, 32, 32, 32);
      region.x.bound = region.y.bound = 0;
      region.x.bound_length = 150;
      region.y.bound_length = 120;
      region.flip = flip;
      const auto out = Decode(payload, region, 3);
      for (std::uint32_t y = 0; y < 32; ++y) {
        for (std::uint32_t x = 0; x < 32; ++x) {
          const std::uint32_t from = 33 + (flip ? 31 - x : x);
          REQUIRE(std::memcmp(&out[(y * 32 + x) * 3], whole.at(from, 47 + y), 3) == 0);
        }
      }
    }
  }
}

TEST_CASE("Raw and zstd payloads of the same pixels decode alike") {
  const Picture picture = MakePicture(90, 70, 3);
  ImagePayload zstd = RawPayload(picture);
  const auto frame = ZstdCompress(zstd.bytes);
  zstd.codec = Codec::kZstd;
  zstd.bytes = frame;
  const Region region = CropTo(5, 6, 60, 50, 24);
  REQUIRE(Decode(zstd, region, 3) == Decode(RawPayload(picture), region, 3));
}

TEST_CASE("Planes hold the same values as interleaved pixels") {
  const Picture picture = MakePicture(64, 48, 3);
  const Region region = CropTo(3, 4, 40, 40, 20);
  const auto interleaved = Decode(RawPayload(picture), region, 3);
  const auto planes = Decode(RawPayload(picture), region, 3, PixelOrder::kPlanar);
  for (std::size_t i = 0; i < 400; ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      REQUIRE(planes[c * 400 + i] == interleaved[i * 3 + c]);
  }
}

TEST_CASE("Pixels outside the picture are zero") {
  const Picture picture = MakePicture(20, 10, 3);
  Region region = Region::Whole(20, 10);
  region.x.at = 3;
  region.x.target = 30;
  region.y.at = 2;
  region.y.target = 15;
  for (const bool flip : {false, true}) {
    region.flip = flip;
    const auto out = Decode(RawPayload(picture), region, 3);
    for (std::uint32_t y = 0; y < 15; ++y) {
      for (std::uint32_t x = 0; x < 30; ++x) {
        const std::uint32_t unflipped = flip ? 29 - x : x;
        const bool inside = unflipped >= 3 && unflipped < 23 && y >= 2 && y < 12;
        for (std::uint32_t c = 0; c < 3; ++c) {
          REQUIRE(out[(y * 30 + x) * 3 + c] == (inside ? picture.at(unflipped - 3, y - 2)[c] : 0));
        }
      }
    }
  }
}

TEST_CASE("16-bit pixels are decoded exactly, mirrored and in planes") {
  std::vector<std::uint16_t> values(6 * 4 * 3);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::uint16_t>(i * 801);
  const ImagePayload payload{
      Codec::kRaw, PixelType::kUint16, 3, 6, 4, std::as_bytes(std::span(values))};
  std::vector<std::uint16_t> out(values.size());
  PayloadDecoder decoder;
  Region region = Region::Whole(6, 4);
  region.flip = true;
  auto* bytes = reinterpret_cast<std::uint8_t*>(out.data());
  REQUIRE(decoder.Decode(payload, region, {bytes, 3, PixelOrder::kPlanar}) == nullptr);
  for (std::size_t y = 0; y < 4; ++y) {
    for (std::size_t x = 0; x < 6; ++x) {
      for (std::size_t c = 0; c < 3; ++c)
        REQUIRE(out[c * 24 + y * 6 + x] == values[(y * 6 + 5 - x) * 3 + c]);
    }
  }
  Region corner = CropTo(2, 1, 3, 3, 3);
  REQUIRE(decoder.Decode(payload, corner, {bytes, 3, PixelOrder::kInterleaved}) == nullptr);
  REQUIRE(out[0] == values[(1 * 6 + 2) * 3]);
  REQUIRE(out[8 * 3 + 2] == values[(3 * 6 + 4) * 3 + 2]);
  REQUIRE(decoder.Decode(payload, CropTo(0, 0, 4, 4, 2), {bytes, 3, PixelOrder::kInterleaved}) !=
          nullptr);
}

TEST_CASE("Payloads that contradict their description give a message, and the next one decodes") {
  const Picture picture = MakePicture(64, 64, 3);
  const auto file = MakeJpeg(picture);
  std::vector<std::uint8_t> out(64 * 64 * 3);
  PayloadDecoder decoder;
  const PixelTarget target{out.data(), 3, PixelOrder::kInterleaved};
  const Region whole = Region::Whole(64, 64);

  auto truncated = file;
  truncated.resize(file.size() / 2);
  CHECK(decoder.Decode(JpegPayload(truncated, picture), whole, target) != nullptr);
  CHECK(decoder.Decode(JpegPayload({}, picture), whole, target) != nullptr);
  ImagePayload wrong_size = JpegPayload(file, picture);
  wrong_size.width = 63;
  CHECK(decoder.Decode(wrong_size, Region::Whole(63, 64), target) != nullptr);
  ImagePayload short_raw = RawPayload(picture);
  short_raw.bytes = short_raw.bytes.first(100);
  CHECK(decoder.Decode(short_raw, whole, target) != nullptr);
  short_raw.codec = Codec::kZstd;
  CHECK(decoder.Decode(short_raw, whole, target) != nullptr);
  short_raw.codec = static_cast<Codec>(99);
  CHECK(decoder.Decode(short_raw, whole, target) != nullptr);
  short_raw.codec = Codec::kAbsent;
  CHECK(decoder.Decode(short_raw, whole, target) != nullptr);
  CHECK(decoder.Decode(RawPayload(picture), CropTo(60, 0, 10, 10, 8), target) != nullptr);

  REQUIRE(decoder.Decode(JpegPayload(file, picture), whole, target) == nullptr);
  REQUIRE(LargestDifference(out, DecodeJpeg(file).pixels) <= kChromaRounding);
}

TEST_CASE("A progressive JPEG with more scans than any real one is refused") {
  const Picture picture = MakePicture(16, 16, 1);
  JpegOptions options;
  options.progressive = true;
  auto file = MakeJpeg(picture, options);
  // Repeats the last scan, which goes from its SOS marker to the EOI marker.
  std::size_t last = 0;
  for (std::size_t i = 0; i + 1 < file.size(); ++i) {
    if (file[i] == std::byte{0xFF} && file[i + 1] == std::byte{0xDA}) last = i;
  }
  const std::vector<std::byte> scan(file.begin() + static_cast<std::ptrdiff_t>(last),
                                    file.end() - 2);
  const std::vector<std::byte> eoi(file.end() - 2, file.end());
  file.resize(file.size() - 2);
  for (int i = 0; i < 2000; ++i)
    file.insert(file.end(), scan.begin(), scan.end());
  file.insert(file.end(), eoi.begin(), eoi.end());
  std::vector<std::uint8_t> out(256);
  PayloadDecoder decoder;
  REQUIRE(decoder.Decode(JpegPayload(file, picture), Region::Whole(16, 16),
                         {out.data(), 1, PixelOrder::kInterleaved}) != nullptr);
}

TEST_CASE("A JPEG's header gives size and channels, and other files are refused with a message") {
  JpegInfo info;
  std::string why;
  REQUIRE(ReadJpegInfo(MakeJpeg(MakePicture(31, 17, 3)), info, why));
  CHECK((info.width == 31 && info.height == 17 && info.channels == 3));
  REQUIRE(ReadJpegInfo(MakeJpeg(MakePicture(31, 17, 1)), info, why));
  CHECK(info.channels == 1);
  REQUIRE_FALSE(ReadJpegInfo(AsBytes("not a picture"), info, why));
  CHECK_FALSE(why.empty());
}
