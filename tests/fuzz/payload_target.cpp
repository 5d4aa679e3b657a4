// The decoding of stored payloads to pixels.
#include <cmath>

#include "format/disk/checksum.h"
#include "format/disk/limits.h"
#include "format/disk/zstd.h"
#include "format/pixels/decode.h"
#include "format/pixels/packed/pack.h"
#include "tests/fuzz/jpeg_mutate.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/targets.h"
#include "tests/pictures.h"

namespace sluice::fuzz {

namespace {

constexpr std::uint32_t kMaxTarget = 300;
constexpr std::uint64_t kMaxPayloadPixels = 1 << 22;  // more pixels only take longer

// The part of an input before the payload.
struct Request {
  std::uint16_t codec;
  std::uint8_t pixel_type, channels;
  std::uint16_t width, height;
  std::uint8_t target_channels, planar, flip, region;
  std::uint16_t numbers[12];  // for RegionFrom()
};
static_assert(sizeof(Request) == 36);

Span SpanFrom(const std::uint16_t* numbers, std::uint32_t size) {
  Span span;
  span.bound = numbers[0] % size;
  span.bound_length = numbers[1] % (size - span.bound) + 1;
  span.start = span.bound + span.bound_length * (numbers[2] / 65536.0);
  span.length = (span.bound + span.bound_length - span.start) * (numbers[3] / 65535.0);
  span.target = numbers[4] % kMaxTarget + 1;
  span.out = numbers[5] % span.target + 1;
  span.at = numbers[4] / kMaxTarget % (span.target - span.out + 1);
  return span;
}

// The numbers may contradict each other; only the target's size is bounded.
Span AnySpan(const std::uint16_t* numbers) {
  static constexpr double kOdd[] = {0, -1, 1e300, -1e300, INFINITY, NAN, 1e-300, 65535.5};
  Span span;
  span.start = numbers[0] < 8 ? kOdd[numbers[0]] : numbers[0] / 16.0;
  span.length = numbers[1] < 8 ? kOdd[numbers[1]] : numbers[1] / 16.0;
  span.bound = numbers[2] == 0xFFFF ? 0xFFFFFFFF : numbers[2];
  span.bound_length = numbers[3] == 0xFFFF ? 0xFFFFFFFF : numbers[3];
  span.out = numbers[4];
  span.at = numbers[5];
  span.target = numbers[5] % kMaxTarget + 1;
  return span;
}

Region RegionFrom(const Request& request, std::uint32_t width, std::uint32_t height) {
  Region region;
  switch (request.region % 3) {
    case 0: region = Region::Whole(width, height); break;
    case 1:
      region.x = SpanFrom(request.numbers, width);
      region.y = SpanFrom(request.numbers + 6, height);
      break;
    default:
      region.x = AnySpan(request.numbers);
      region.y = AnySpan(request.numbers + 6);
      break;
  }
  region.flip = request.flip % 2 != 0;
  return region;
}

bool Decode(PayloadDecoder& decoder, const ImagePayload& payload, const Region& region,
            PixelTarget target, std::uint8_t filling, std::vector<std::uint8_t>& pixels) {
  pixels.assign(
      std::size_t{region.x.target} * region.y.target * target.channels * SizeOf(payload.pixel_type),
      filling);
  target.data = pixels.data();
  return decoder.Decode(payload, region, target) == nullptr;
}

}  // namespace

void RunPayload(Bytes input) {
  InputReader reader(input);
  auto request = reader.Take<Request>();
  const std::vector<std::byte> own(reader.rest().begin(), reader.rest().end());  // for ASan
  ImagePayload payload;
  payload.bytes = own;
  payload.codec = static_cast<Codec>(request.codec);
  payload.pixel_type = static_cast<PixelType>(request.pixel_type % 5);
  payload.channels = static_cast<std::uint8_t>(request.channels % 8 + 1);
  payload.width = request.width;
  payload.height = request.height;
  JpegInfo info;
  std::string why;
  // Usually takes the JPEG's own size, since any other size is refused at once.
  if (ReadJpegInfo(own, info, why) && request.region < 224) {
    payload.width = info.width;
    payload.height = info.height;
    payload.channels = info.channels;
  }
  if (payload.width == 0 || payload.height == 0 ||
      std::uint64_t{payload.width} * payload.height > kMaxPayloadPixels) {
    return;
  }
  const Region region = RegionFrom(request, payload.width, payload.height);
  PixelTarget target;
  target.channels = request.target_channels % 3 == 0   ? 1
                    : request.target_channels % 3 == 1 ? 3
                                                       : payload.channels;
  target.order = request.planar % 2 != 0 ? PixelOrder::kPlanar : PixelOrder::kInterleaved;

  // Decodes twice: the second time over other bytes and with a used decoder. If the result is the
  // same, every byte was written, and no old byte was read.
  static thread_local PayloadDecoder used;
  PayloadDecoder fresh;
  std::vector<std::uint8_t> first, second;
  const bool ok = Decode(used, payload, region, target, 0x55, first);
  Promise(Decode(fresh, payload, region, target, 0xAA, second) == ok,
          "decoding a payload again ends the same way");
  Promise(!ok || first == second, "decoding a payload again gives the same pixels");
}

// Mutates the payload as a JPEG, or, one time in four, any bytes of the input.
void MutatePayload(Input& input, const Input& other, RandomStream& random) {
  if (input.size() <= sizeof(Request) || random.Below(4) == 0) {
    Mutate(input, other, random);
    return;
  }
  const auto request_end = input.begin() + static_cast<std::ptrdiff_t>(sizeof(Request));
  Input payload(request_end, input.end());
  const std::size_t skipped = std::min(sizeof(Request), other.size());
  MutateJpeg(payload, Input(other.begin() + static_cast<std::ptrdiff_t>(skipped), other.end()),
             random);
  input.erase(request_end, input.end());
  input.insert(input.end(), payload.begin(), payload.end());
}

std::vector<Input> PayloadSeeds() {
  std::vector<Input> seeds;
  const auto add = [&seeds](Request request, Bytes payload) {
    Input seed(sizeof(request));
    StoreAt<Request>(seed, 0, request);
    seed.insert(seed.end(), payload.begin(), payload.end());
    seeds.push_back(std::move(seed));
  };
  const auto number_of = [](Codec codec) { return static_cast<std::uint16_t>(codec); };
  const Request crop{.codec = number_of(Codec::kJpeg),
                     .pixel_type = 0,
                     .channels = 2,
                     .width = 40,
                     .height = 30,
                     .target_channels = 1,
                     .planar = 0,
                     .flip = 1,
                     .region = 1,
                     .numbers = {3, 30, 9, 50000, 19, 19, 2, 25, 100, 60000, 24, 20}};
  Request whole = crop;
  whole.region = 0;
  using test::JpegOptions;
  const test::Picture picture = test::MakePicture(40, 30);
  for (const JpegOptions& options :
       {JpegOptions{}, JpegOptions{.restart_rows = 1}, JpegOptions{.progressive = true},
        JpegOptions{.quality = 40, .subsample = false}}) {
    add(crop, test::MakeJpeg(picture, options));
    add(whole, test::MakeJpeg(picture, options));
  }
  add(crop, test::MakeJpeg(test::MakePicture(40, 30, 1)));
  add(crop, test::MakeJpeg(test::MakePicture(40, 30, 4)));
  packed::Coefficients coefficients;
  std::string why;
  Promise(
      packed::ReadCoefficients(test::MakeJpeg(picture), coefficients, why) == packed::Taken::kYes,
      "the picture of a seed can be packed");
  Request packed_crop = crop;
  packed_crop.codec = number_of(Codec::kPacked);
  add(packed_crop, packed::Pack(coefficients));
  const Bytes pixels = std::as_bytes(std::span(picture.pixels));
  Request raw = crop;
  raw.codec = number_of(Codec::kRaw);
  add(raw, pixels);
  raw.codec = number_of(Codec::kZstd);
  raw.planar = 1;
  add(raw, ZstdCompress(pixels));
  Request deep = whole;
  deep.codec = number_of(Codec::kRaw);
  deep.pixel_type = 1;
  deep.width = 20;
  deep.channels = 2;
  deep.target_channels = 2;
  add(deep, pixels);
  return seeds;
}

}  // namespace sluice::fuzz
