// Packed images: every set of kernels against the others, and a valid payload against the JPEG that
// it stands for.
//
// Promises:
//   - Every set of kernels takes or refuses the same payloads and regions and gives the same
//     samples, whether its scratch memory is used or fresh.
//   - A device's functions refuse every payload that the kernels refuse, and another payload only
//   if
//     it breaks a rule of the packed form. From the other payloads they get the same samples.
//   - A payload that keeps all rules is decoded, and its coefficients can be packed in no other
//     way. A JPEG with the same coefficients gives the same samples of each region.
#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/packed/decoder.h"
#include "format/pixels/packed/pack.h"
#include "tests/fuzz/jpeg_on_device.h"
#include "tests/fuzz/targets.h"
#include "tests/pictures.h"

namespace sluice::fuzz {

namespace {

constexpr std::uint64_t kMaxPackedPixels = 1 << 20;  // more pixels only take longer

using Samples = std::vector<std::uint8_t>;  // of all planes, column by column

Samples SamplesOf(const ColumnPlane* planes, std::uint32_t components) {
  Samples samples;
  for (std::uint32_t c = 0; c < components; ++c) {
    const ColumnPlane& plane = planes[c];
    for (std::uint32_t x = plane.x.first; x < plane.x.last; ++x) {
      const std::uint8_t* const column =
          plane.data + std::size_t{x - plane.left} * plane.stride + (plane.y.first - plane.top);
      samples.insert(samples.end(), column, column + (plane.y.last - plane.y.first));
    }
  }
  return samples;
}

// The result of a decoding: no samples if the payload was refused.
Samples DecodeBy(packed::Decoder& decoder, const ImagePayload& payload, const Region& region) {
  if (decoder.Decode(payload, 3, region) != nullptr) return {};
  return SamplesOf(decoder.planes(), decoder.components());
}

void CompareWithDevice(const ImagePayload& payload, const Region& region,
                       const packed::Decoder& host, bool taken) {
  const auto there = DecodeOnDevice(payload, region);
  if (!there) return;
  if (there->empty()) {
    packed::Coefficients all;
    Promise(!taken || packed::Unpack(payload.bytes, all) != nullptr,
            "a device refuses only what breaks a rule");
    return;
  }
  Promise(taken, "a device refuses what the host refuses");
  for (std::uint32_t c = 0; c < host.components(); ++c) {
    const ColumnPlane& plane = host.planes()[c];
    for (std::uint32_t x = plane.x.first; x < plane.x.last; ++x) {
      for (std::uint32_t y = plane.y.first; y < plane.y.last; ++y) {
        Promise((*there)[c].At(x, y) ==
                    plane.data[std::size_t{x - plane.left} * plane.stride + (y - plane.top)],
                "a device gives the same samples of a packed image");
      }
    }
  }
}

// Decodes with every set of kernels and on a device. All must agree.
Samples Decode(const ImagePayload& payload, const Region& region) {
  static thread_local std::vector<packed::Decoder> used = [] {
    const kernels::KernelList list = kernels::Available();
    std::vector<packed::Decoder> decoders;
    for (std::size_t i = 0; i < list.count; ++i)
      decoders.emplace_back(*list.sets[i]);
    return decoders;
  }();
  Samples samples = DecodeBy(used[0], payload, region);
  for (std::size_t i = 1; i < used.size(); ++i) {
    Promise(DecodeBy(used[i], payload, region) == samples,
            "every set of kernels gives the same samples of a packed image");
  }
  packed::Decoder fresh(kernels::Chosen());
  Promise(DecodeBy(fresh, payload, region) == samples, "decoding again gives the same");
  CompareWithDevice(payload, region, fresh, !samples.empty());
  return samples;
}

// A part of an axis, for an output that is 2^log2 times smaller.
Span AnyReducedSpan(std::uint32_t size, std::uint32_t log2, RandomStream& random) {
  Span span;
  span.bound = static_cast<std::uint32_t>(random.Below(size));
  span.bound_length = static_cast<std::uint32_t>(1 + random.Below(size - span.bound));
  span.start = span.bound;
  span.length = span.bound_length;
  span.out = span.target = std::max(1U, span.bound_length >> log2);
  return span;
}

void CompareWithJpeg(const packed::Coefficients& coefficients, const ImagePayload& payload,
                     const std::vector<Region>& regions, const std::vector<Samples>& decoded) {
  Input jpeg;
  try {
    jpeg = packed::WriteJpeg(coefficients);
  } catch (const Error&) {
    return;  // coefficients beyond those of a JPEG
  }
  packed::Coefficients again;
  std::string why;
  Promise(packed::ReadCoefficients(jpeg, again, why) == packed::Taken::kYes,
          "the JPEG of a packed image can be packed");
  for (std::uint32_t c = 0; c < coefficients.header.components; ++c) {
    Promise(again.blocks[c] == coefficients.blocks[c],
            "the JPEG of a packed image has its coefficients");
  }
  baseline::Decoder decoder(kernels::Chosen());
  for (std::size_t i = 0; i < regions.size(); ++i) {
    Promise(decoder.Decode(jpeg, payload.width, payload.height, regions[i]),
            "the JPEG of a packed image is decoded");
    Promise(SamplesOf(decoder.planes(), decoder.components()) == decoded[i],
            "a packed image has the samples of its JPEG");
  }
}

}  // namespace

bool ComparePacked(Bytes input) {
  const std::vector<std::byte> own(input.begin(), input.end());  // exact size, for ASan
  packed::Header header;
  if (packed::ParseHeader(own, header) != nullptr ||
      std::uint64_t{header.width} * header.height > kMaxPackedPixels) {
    return false;
  }
  ImagePayload payload;
  payload.codec = Codec::kPacked;
  payload.channels = static_cast<std::uint8_t>(header.components);
  payload.width = header.width;
  payload.height = header.height;
  payload.bytes = own;
  RandomStream random(Hash64(own), static_cast<Purpose>(0xF23), 0);
  std::vector<Region> regions = {Region::Whole(header.width, header.height)};
  for (int i = 0; i < 3; ++i) {
    const auto log2 = static_cast<std::uint32_t>(random.Below(5));
    regions.push_back({AnyReducedSpan(header.width, log2, random),
                       AnyReducedSpan(header.height, log2, random), false});
  }
  std::vector<Samples> decoded;
  for (const Region& region : regions)
    decoded.push_back(Decode(payload, region));
  packed::Coefficients coefficients;
  if (packed::Unpack(own, coefficients) != nullptr) return false;
  for (const Samples& samples : decoded)
    Promise(!samples.empty(), "a packed image without a fault is decoded");
  Promise(packed::Pack(coefficients) == own, "there is one way to pack given coefficients");
  CompareWithJpeg(coefficients, payload, regions, decoded);
  return true;
}

void RunPacked(Bytes input) {
  ComparePacked(input);
}

std::vector<Input> PackedSeeds() {
  std::vector<Input> seeds;
  const auto add = [&seeds](std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                            const test::JpegOptions& options) {
    const Input jpeg = MakeJpeg(test::MakePicture(width, height, channels), options);
    packed::Coefficients coefficients;
    std::string why;
    Promise(packed::ReadCoefficients(jpeg, coefficients, why) == packed::Taken::kYes,
            "the pictures of seeds can be packed");
    seeds.push_back(packed::Pack(coefficients));
  };
  for (const auto& [h, v] : {std::pair{2, 2}, {2, 1}, {1, 2}, {1, 1}})
    add(35, 29, 3, {.quality = 80, .restart_interval = 2, .luma_h = h, .luma_v = v});
  for (const int quality : {1, 10, 50, 95, 100})
    add(24, 17, 3, {.quality = quality});
  for (const std::uint32_t size : {1U, 8U, 9U})
    add(size, 18 - size, 1, {.quality = 100});
  return seeds;
}

}  // namespace sluice::fuzz
