// Packed images against the JPEGs they are made from: the same coefficients, files and pixels.
#include <cmath>
#include <cstring>
#include <string>

#include <sluice/error.h>

#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/packed/decoder.h"
#include "format/pixels/packed/pack.h"
#include "format/random.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/pixels/kernel_sets.h"

using namespace sluice;
using namespace sluice::test;

namespace {

packed::Coefficients CoefficientsOf(const std::vector<std::byte>& jpeg) {
  packed::Coefficients coefficients;
  std::string why;
  if (packed::ReadCoefficients(jpeg, coefficients, why) != packed::Taken::kYes) FAIL(why);
  return coefficients;
}

std::vector<std::byte> Packed(const std::vector<std::byte>& jpeg) {
  return packed::Pack(CoefficientsOf(jpeg));
}

// One instruction set's decoders, and the resampler for their planes.
struct DecodersOfSet {
  explicit DecodersOfSet(const kernels::Kernels& kernel_set)
      : set(&kernel_set), baseline(kernel_set), packed(kernel_set), planar(kernel_set) {}
  const kernels::Kernels* set;
  baseline::Decoder baseline;
  packed::Decoder packed;
  PlanarResampler planar;
};

using DecodedPixels = std::vector<std::uint8_t>;

DecodedPixels Resampled(PlanarResampler& planar, const ColumnPlane* planes,
                        std::uint32_t components, const Region& region, std::uint32_t channels) {
  DecodedPixels out(std::size_t{region.x.target} * region.y.target * channels, 0xAB);
  planar.Run(planes, components, region, {out.data(), channels, PixelOrder::kInterleaved});
  return out;
}

ImagePayload PayloadOf(Bytes bytes, const Picture& picture) {
  return {Codec::kPacked, PixelType::kUint8, static_cast<std::uint8_t>(picture.channels),
          picture.width,  picture.height,    bytes};
}

// A random crop, enlarged or reduced by random factors.
Region RandomRegion(const Picture& picture, RandomStream& random) {
  const auto span = [&random](std::uint32_t size) {
    Span s;
    s.bound_length = static_cast<std::uint32_t>(1 + random.Below(size));
    s.bound = static_cast<std::uint32_t>(random.Below(size - s.bound_length + 1));
    s.start = s.bound;
    s.length = s.bound_length;
    s.out = s.target =
        static_cast<std::uint32_t>(1 + random.Below(1 + size / (1 + random.Below(9))));
    return s;
  };
  Region region;
  region.x = span(picture.width);
  region.y = span(picture.height);
  region.flip = random.Below(2) == 1;
  region.filter = random.Below(2) == 1 ? Filter::kArea : Filter::kTriangle;
  return region;
}

struct LumaFactors {
  int h, v;
};
constexpr LumaFactors kLumaSamplings[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}};

std::vector<std::byte> Encode(const Picture& picture, LumaFactors sampling, int quality,
                              bool progressive = false) {
  JpegOptions options;
  options.luma_h = sampling.h;
  options.luma_v = sampling.v;
  options.quality = quality;
  options.progressive = progressive;
  options.restart_rows = quality % 2;
  return MakeJpeg(picture, options);
}

// Full contrast in every frequency: coefficients of every size.
Picture Extreme(std::uint32_t width, std::uint32_t height, std::uint32_t channels) {
  Picture picture{width, height, channels, {}};
  RandomStream random(width, static_cast<Purpose>(999), 0);
  for (std::size_t i = 0; i < std::size_t{width} * height * channels; ++i)
    picture.pixels.push_back(random.Word() % 2 == 0 ? 0 : 255);
  return picture;
}

// The bytes of FORMAT.md's example, by hand: two blocks of a grey picture of 16 x 8 pixels.
std::vector<std::byte> Example() {
  std::vector<int> bytes = {1, 1, 0x11, 1, 16, 0, 8, 0, 0, 0, 0, 0,
                            1, 0, 1,    0, 1,  1, 0, 0, 0, 0, 0, 0};
  bytes.insert(bytes.end(), 64, 0x10);
  for (const int byte : {0x76, 0,    0,    0,     // end of the only row
                         2,    0,    0,    0,     // two large coefficients
                         3,    5,                 // rows
                         0x1A, 0,    0xFB, 0xFF,  // DC
                         2,    1,    2,    8,     // masks
                         0xE1, 0x88, 0x2C, 0xF7,  // four values of 4 bits, then two of 8
                         0,    0,    1,    1,     // + 256 at place 1 of block 0
                         1,    0,    1,    1}) {  // + 256 at place 1 of block 1
    bytes.push_back(byte);
  }
  bytes.insert(bytes.end(), 16, 0);
  std::vector<std::byte> payload;
  for (const int byte : bytes)
    payload.push_back(static_cast<std::byte>(byte));
  return payload;
}

}  // namespace

TEST_CASE("The example of FORMAT.md holds the stated coefficients, and is what the code writes") {
  const std::vector<std::byte> payload = Example();
  CHECK(payload.size() == 0x86);
  packed::Coefficients coefficients;
  const Defect defect = packed::Unpack(payload, coefficients);
  if (defect != nullptr) FAIL(defect);
  std::vector<std::int16_t> expected(128);
  expected[0] = 26;
  expected[1] = 257;
  expected[8] = -2;
  expected[64] = -5;
  expected[64 + 1] = 300;
  expected[64 + 2 * 8 + 3] = -9;
  CHECK(coefficients.blocks[0] == expected);
  CHECK(packed::Pack(coefficients) == payload);
  // The picture as libjpeg decodes it.
  const Picture picture = DecodeJpeg(packed::WriteJpeg(coefficients), 1);
  for (const kernels::Kernels* set : Sets()) {
    packed::Decoder decoder(*set);
    const Region whole = Region::Whole(16, 8);
    REQUIRE(decoder.Decode(PayloadOf(payload, {16, 8, 1, {}}), 1, whole) == nullptr);
    PlanarResampler planar(*set);
    CHECK(Resampled(planar, decoder.planes(), 1, whole, 1) == picture.pixels);
  }
}

TEST_CASE("For every sampling, size and quality, packing keeps the file bit for bit") {
  for (const LumaFactors sampling : kLumaSamplings) {
    for (const std::uint32_t channels : {1U, 3U}) {
      for (const int quality : {1, 30, 75, 90, 100}) {
        for (const auto& [width, height] :
             {std::pair{1U, 1U}, {9U, 17U}, {64U, 48U}, {203U, 75U}}) {
          const Picture picture = MakePicture(width, height, channels);
          const auto jpeg = Encode(picture, sampling, quality);
          INFO(sampling.h << "x" << sampling.v << " q" << quality << " " << width << "x" << height);
          const auto payload = Packed(jpeg);
          const auto again = JpegFileOf(PayloadOf(payload, picture));
          // The factors of a single component mean nothing and are written as 1.
          const bool odd = channels == 1 && sampling.h * sampling.v != 1;
          const bool same = odd ? CoefficientsOf(again).blocks[0] == CoefficientsOf(jpeg).blocks[0]
                                : again == jpeg;
          CHECK(same);
          // A progressive file with the same coefficients gives the same payload, except for the
          // header's restart interval.
          auto progressive = Packed(Encode(picture, sampling, quality, true));
          std::memcpy(&progressive[18], &payload[18], 2);
          const bool as_progressive = progressive == payload;
          CHECK(as_progressive);
        }
      }
    }
  }
}

TEST_CASE("Random crops of packed images have the JPEG's pixels, with every set of kernels") {
  std::vector<DecodersOfSet> sets;
  for (const kernels::Kernels* set : Sets())
    sets.emplace_back(*set);
  RandomStream random(1, static_cast<Purpose>(999), 0);
  for (const LumaFactors sampling : kLumaSamplings) {
    for (const std::uint32_t channels : {1U, 3U}) {
      for (const int quality : {10, 85, 97}) {
        const Picture picture =
            MakePicture(211, 164, channels, static_cast<std::uint64_t>(quality));
        const auto jpeg = Encode(picture, sampling, quality);
        const auto payload = Packed(jpeg);
        for (int i = 0; i < 12; ++i) {
          const Region region = RandomRegion(picture, random);
          const std::uint32_t wanted = random.Below(2) == 0 ? 1 : 3;
          DecodedPixels first;
          for (DecodersOfSet& of : sets) {
            INFO(of.set->name << " " << sampling.h << "x" << sampling.v << " crop " << i);
            REQUIRE(of.baseline.Decode(jpeg, 211, 164, region));
            REQUIRE(of.packed.Decode(PayloadOf(payload, picture), wanted, region) == nullptr);
            const DecodedPixels pixels =
                Resampled(of.planar, of.packed.planes(), of.packed.components(), region, wanted);
            REQUIRE(pixels == Resampled(of.planar, of.baseline.planes(), of.baseline.components(),
                                        region, wanted));
            if (first.empty()) first = pixels;
            REQUIRE(pixels == first);
          }
        }
      }
    }
  }
}

TEST_CASE("Coefficients of every size are unpacked, at full and at reduced size") {
  for (const std::uint32_t channels : {1U, 3U}) {
    const Picture picture = Extreme(72, 56, channels);
    for (const int quality : {20, 90, 100}) {
      const auto jpeg = Encode(picture, {1, 1}, quality);
      const auto payload = Packed(jpeg);
      CHECK(JpegFileOf(PayloadOf(payload, picture)) == jpeg);
      for (const kernels::Kernels* set : Sets()) {
        DecodersOfSet of(*set);
        for (const std::uint32_t reduction : {1U, 2U, 4U, 8U}) {
          Region region = Region::Whole(72, 56);
          region.x.out = region.x.target = 72 / reduction;
          region.y.out = region.y.target = 56 / reduction;
          REQUIRE(of.baseline.Decode(jpeg, 72, 56, region));
          REQUIRE(of.packed.Decode(PayloadOf(payload, picture), 3, region) == nullptr);
          REQUIRE(Resampled(of.planar, of.packed.planes(), channels, region, 3) ==
                  Resampled(of.planar, of.baseline.planes(), channels, region, 3));
        }
      }
    }
  }
}

TEST_CASE("The payload decoder decodes packed images in every order and number of channels") {
  const Picture picture = MakePicture(90, 60);
  const auto jpeg = Encode(picture, {2, 2}, 90);
  const auto payload = Packed(jpeg);
  const Region region = {
      {.start = 10,
       .length = 70,
       .bound = 10,
       .bound_length = 70,
       .out = 50,
       .at = 3,
       .target = 60},
      {.start = 5, .length = 50, .bound = 5, .bound_length = 50, .out = 40, .at = 4, .target = 50},
      true};
  PayloadDecoder decoder;
  for (const std::uint32_t channels : {1U, 3U}) {
    for (const PixelOrder order : {PixelOrder::kInterleaved, PixelOrder::kPlanar}) {
      DecodedPixels a(std::size_t{60} * 50 * channels, 1), b(a.size(), 2);
      ImagePayload image = PayloadOf(payload, picture);
      REQUIRE(decoder.Decode(image, region, {a.data(), channels, order}) == nullptr);
      image.codec = Codec::kJpeg;
      image.bytes = jpeg;
      REQUIRE(decoder.Decode(image, region, {b.data(), channels, order}) == nullptr);
      CHECK(a == b);
    }
  }
}

TEST_CASE("Files without a packed form and broken ones give different results") {
  packed::Coefficients coefficients;
  std::string why;
  const auto take = [&](const std::vector<std::byte>& jpeg) {
    return packed::ReadCoefficients(jpeg, coefficients, why);
  };
  const Picture picture = MakePicture(40, 30);
  JpegOptions options;
  options.stored = JCS_RGB;
  CHECK(take(MakeJpeg(picture, options)) == packed::Taken::kNo);
  CHECK(take(MakeJpeg(MakePicture(40, 30, 4))) == packed::Taken::kNo);
  CHECK(take(Encode(picture, {4, 1}, 90)) == packed::Taken::kNo);
  auto broken = MakeJpeg(picture);
  broken.resize(broken.size() / 2);
  CHECK(take(broken) == packed::Taken::kBroken);
  CHECK_FALSE(why.empty());
}

TEST_CASE("Truncated or contradictory packed images are refused") {
  const Picture picture = MakePicture(40, 24);
  const auto payload = Packed(Encode(picture, {2, 2}, 90));
  const Region whole = Region::Whole(40, 24);
  packed::Decoder decoder(kernels::Chosen());
  packed::Coefficients coefficients;
  const auto refused = [&](const std::vector<std::byte>& bytes) {
    // Allocated to their exact size, so that a read beyond them is noticed.
    const std::vector<std::byte> own(bytes.begin(), bytes.end());
    return decoder.Decode(PayloadOf(own, picture), 3, whole) != nullptr &&
           packed::Unpack(own, coefficients) != nullptr;
  };
  REQUIRE_FALSE(refused(payload));
  for (std::size_t size = 0; size < payload.size(); size += 1 + size / 50) {
    INFO(size);
    CHECK(refused({payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(size)}));
  }
  const auto changed = [&](std::size_t at, int value) {
    auto bytes = payload;
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  CHECK(refused(changed(0, 2)));     // another form
  CHECK(refused(changed(1, 2)));     // two components
  CHECK(refused(changed(2, 0x32)));  // sampling
  CHECK(refused(changed(3, 0)));     // no quantisation table
  CHECK(refused(changed(4, 41)));    // not the payload's width
  CHECK(refused(changed(9, 2)));     // a component whose table is missing
  // Only Unpack() checks reserved bytes.
  CHECK(packed::Unpack(changed(21, 1), coefficients) ==
        std::string("reserved bytes of the packed image are not zero"));
  packed::Header header;
  REQUIRE(packed::ParseHeader(payload, header) == nullptr);
  const std::size_t row = header.lines_offset();
  CHECK(refused(changed(row + 3, 0xFF)));                     // billions of large coefficients
  CHECK(refused(changed(header.directory_offset() + 3, 1)));  // a row that ends beyond the payload
  CHECK(refused(changed(header.directory_offset() + 1, 0)));  // a row that ends before it begins
}

TEST_CASE("Coefficients that no JPEG file can hold are a fault when the whole file is checked") {
  const auto with_dc = [](int dc) {
    std::vector<std::byte> payload = Example();
    payload[0x5C + 6] = static_cast<std::byte>(dc & 0xFF);
    payload[0x5C + 7] = static_cast<std::byte>(dc >> 8 & 0xFF);
    return payload;
  };
  const auto check = [](const std::vector<std::byte>& payload, bool whole_file) {
    packed::Decoder decoder(kernels::Chosen());
    DecodePolicy policy;
    policy.whole_file = whole_file;
    const Picture size{16, 8, 1, {}};
    return decoder.Decode(PayloadOf(payload, size), 1, Region::Whole(16, 8), policy);
  };
  for (const int dc : {-1024, 1023})
    CHECK(check(with_dc(dc), true) == nullptr);
  std::vector<std::byte> large_ac = Example();
  large_ac[0x5C + 0x15] = std::byte{4};  // 1 + 4 * 256 at place 1 of block 0
  for (const std::vector<std::byte>& payload : {with_dc(-1025), with_dc(1024), large_ac}) {
    const Defect defect = check(payload, true);
    REQUIRE(defect != nullptr);
    CHECK(std::string(defect) == "the packed image has coefficients that no JPEG file can hold");
    CHECK(check(payload, false) == nullptr);  // a training does not look for them
  }
}

TEST_CASE("An escape without its byte is refused by every set of kernels") {
  std::vector<std::byte> payload = Example();
  payload[0x5C + 14] = std::byte{0x88};  // the first two values become escapes, too
  for (const kernels::Kernels* set : Sets()) {
    packed::Decoder decoder(*set);
    CHECK(decoder.Decode(PayloadOf(payload, {16, 8, 1, {}}), 1, Region::Whole(16, 8)) != nullptr);
  }
}
