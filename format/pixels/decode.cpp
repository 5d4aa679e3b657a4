// Chooses the decoder for a payload, and the way from its samples to the target's pixels, for one
// region of the picture.
//
// JPEG and packed payloads become planes, which are resampled each at its own resolution and only
// then converted to RGB (planar.h). Files that our decoder does not take go through libjpeg: as
// planes if their colours are grey or Y Cb Cr (JpegPlanes), else as pixels (JpegDecoder). Raw and
// zstd payloads are interleaved pixels already (interleaved.h). A transposed region is decoded
// upright and turned at the end. Wide images have a path of their own (wide.h).
#include "format/pixels/decode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/disk/zstd.h"
#include "format/pixels/axis.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/grey.h"
#include "format/pixels/interleaved.h"
#include "format/pixels/jpeg.h"
#include "format/pixels/lines.h"
#include "format/pixels/packed/decoder.h"
#include "format/pixels/planar.h"
#include "format/pixels/resample.h"
#include "format/pixels/wide.h"

namespace sluice {

namespace {

// The full-size source pixels that a span needs: [first, first + count).
void NeededPixels(const Span& span, std::uint32_t& first, std::uint32_t& count) {
  std::uint32_t last = 0;
  SourceRange({span.start - span.bound, span.length, span.out, false}, span.bound_length, first,
              last);
  count = last - first;
  first += span.bound;
}

// Like NeededPixels() above, with a margin of two reduced pixels inside the bounds, so that the
// filter finds all its samples on the reduced grid as well.
void NeededPixels(const Span& span, std::uint32_t reduction, std::uint32_t& first,
                  std::uint32_t& count) {
  NeededPixels(span, first, count);
  const std::uint32_t margin = 2 * reduction;
  const std::uint32_t last = std::min(first + count + margin, span.bound + span.bound_length);
  first -= std::min(margin, first - span.bound);
  count = last - first;
}

// The largest reduction that leaves at least `samples_per_pixel` samples for each output pixel on
// both axes, and whose grid the bounds lie on, so that no pixel outside them is mixed in.
std::uint32_t ReductionFor(const Region& region, const ImagePayload& payload,
                           std::uint32_t samples_per_pixel) {
  const auto fits = [&](const Span& span, std::uint32_t size, std::uint32_t reduction) {
    const std::uint32_t end = span.bound + span.bound_length;
    return span.length >= double(span.out) * reduction * samples_per_pixel &&
           span.bound % reduction == 0 && (end % reduction == 0 || end == size);
  };
  for (const std::uint32_t reduction : {8U, 4U, 2U}) {
    if (fits(region.x, payload.width, reduction) && fits(region.y, payload.height, reduction)) {
      return reduction;
    }
  }
  return 1;
}

bool SpanIsSound(const Span& span, std::uint32_t size) {
  constexpr double kRounding = 1e-6;  // in pixels: starts and lengths are results of computations
  return Inside(span.at, span.out, span.target) && span.bound_length > 0 &&
         Inside(span.bound, span.bound_length, size) && span.length > 0 &&
         span.start >= span.bound &&
         span.start + span.length <= double(span.bound) + span.bound_length + kRounding;
}

}  // namespace

bool LiesInside(const Region& region, std::uint32_t width, std::uint32_t height) noexcept {
  return SpanIsSound(region.x, width) && SpanIsSound(region.y, height);
}

Defect CheckStored(const ImagePayload& payload) noexcept {
  const std::uint64_t size =
      std::uint64_t{payload.width} * payload.height * payload.channels * SizeOf(payload.pixel_type);
  switch (payload.codec) {
    case Codec::kAbsent: return nullptr;
    case Codec::kRaw:
      return payload.bytes.size() == size ? nullptr
                                          : "the pixels are of another size than the table says";
    case Codec::kTiled:
      if (!IsWide(payload.pixel_type, payload.channels))
        return "a picture of 8 bits and up to 4 channels cannot be tiled";
      return size <= kMaxImageBytes ? nullptr : "the image takes more than 1 GiB";
    case Codec::kZstd:
      if (size > kMaxImageBytes) return "the image takes more than 1 GiB";
      return ZstdContentBytes(payload.bytes) == size
                 ? nullptr
                 : "the zstd frame's content is of another size than the table says";
    case Codec::kJpeg:
    case Codec::kPacked:
      if (payload.pixel_type != PixelType::kUint8)
        return "a JPEG or packed image has 8-bit pixels only";
      return payload.channels == 1 || payload.channels == 3
                 ? nullptr
                 : "a JPEG or packed image has one or three channels";
  }
  return "the codec is not known to this build; use a newer version of Sluice";
}

struct PayloadDecoder::State {
  explicit State(DecodePolicy decode_policy) : policy(decode_policy) {}

  const DecodePolicy policy;
  const kernels::Kernels& set = kernels::Chosen();
  baseline::Decoder baseline{set};  // the JPEGs that our writer stores, and most others
  packed::Decoder packed{set};
  JpegPlanes jpeg_planes{set};  // other grey and Y Cb Cr files
  JpegDecoder jpeg;             // RGB, CMYK
  PlanarResampler planar{set};
  InterleavedResampler interleaved{set};  // all payloads that do not decode to planes
  WideDecoder wide{set};
  std::vector<std::byte> inflated;
  bool inflated_for_views = false;      // `inflated` has the payload of the last DecodeViews()
  std::vector<std::uint8_t> converted;  // a picture in the target's number of channels
  std::vector<std::uint8_t> upright;    // a target before its rows become columns
  std::vector<std::uint8_t> turned;     // and after that, before it is put into its place

  // Of the last DecodeViews(): the regions whose planes it asked `baseline` for, which are those
  // that can be decoded; and, for each region that it was given, the number of the region's planes,
  // or kAlone if DecodeView() must decode the region by itself.
  static constexpr std::size_t kAlone = SIZE_MAX;
  std::vector<Region> view_regions;
  std::vector<std::size_t> view_planes;

  // `planes`: those of the region, or null if the payload is still to be decoded.
  Defect Decode(const ImagePayload& payload, const Region& region, const PixelTarget& target,
                const ColumnPlane* planes);

  // Part of a picture, converted to the target's number of channels.
  struct Part {
    PixelView view;
    std::uint32_t reduction = 1;
    std::uint32_t left = 0, top = 0;  // of the part in the picture, in reduced pixels
  };

  // Decodes a region that is not transposed; leaves its border.
  Defect DecodeUpright(const ImagePayload& payload, const Region& region, const PixelTarget& target,
                       const ColumnPlane* planes);
  Defect DecodeJpeg(const ImagePayload& payload, const Region& region, const PixelTarget& target,
                    const ColumnPlane* planes);
  Defect DecodePacked(const ImagePayload& payload, const Region& region, const PixelTarget& target);
  Defect DecodeOtherColours(const ImagePayload& payload, const Region& region,
                            std::uint32_t channels, Part& part);
  void Finish(const Part& part, const Region& region, const PixelTarget& target);
  Defect RawPixels(const ImagePayload& payload, const Region& region, std::uint32_t channels,
                   Part& part);
  void ConvertChannels(const Region& region, std::uint32_t channels, Part& part);
  Defect DecodeWide(const ImagePayload& payload, const Region& region, const PixelTarget& target);
  Defect RawBytes(const ImagePayload& payload, Bytes& pixels);
};

Defect PayloadDecoder::State::DecodeJpeg(const ImagePayload& payload, const Region& region,
                                         const PixelTarget& target, const ColumnPlane* planes) {
  if (target.channels != 1 && target.channels != 3) {
    return "a JPEG payload gives one or three channels";
  }
  if (planes != nullptr) {
    planar.Run(planes, baseline.components(), region, target);
    return nullptr;
  }
  if (baseline.Decode(payload.bytes, payload.width, payload.height, region, policy)) {
    planar.Run(baseline.planes(), baseline.components(), region, target);
    return nullptr;
  }
  // Another kind of JPEG, or broken: libjpeg decides which.
  switch (jpeg_planes.Decode(payload.bytes, payload.width, payload.height, region, policy)) {
    case JpegPlanes::Outcome::kDecoded:
      planar.Run(jpeg_planes.planes(), jpeg_planes.components(), region, target);
      return nullptr;
    case JpegPlanes::Outcome::kBroken: return jpeg_planes.defect();
    case JpegPlanes::Outcome::kOtherColours: break;
  }
  Part part;
  if (const Defect defect = DecodeOtherColours(payload, region, target.channels, part)) {
    return defect;
  }
  Finish(part, region, target);
  return nullptr;
}

Defect PayloadDecoder::State::DecodePacked(const ImagePayload& payload, const Region& region,
                                           const PixelTarget& target) {
  if (target.channels != 1 && target.channels != 3) {
    return "a packed image gives one or three channels";
  }
  if (const Defect defect = packed.Decode(payload, target.channels, region, policy)) return defect;
  planar.Run(packed.planes(), packed.components(), region, target);
  return nullptr;
}

Defect PayloadDecoder::State::DecodeOtherColours(const ImagePayload& payload, const Region& region,
                                                 std::uint32_t channels, Part& part) {
  JpegWindow window;
  window.reduction = ReductionFor(region, payload, policy.samples_per_pixel);
  if (policy.whole_file) {
    window.width = payload.width;
    window.height = payload.height;
  } else {
    NeededPixels(region.x, window.reduction, window.left, window.width);
    NeededPixels(region.y, window.reduction, window.top, window.height);
  }
  window.channels = channels;
  JpegPart decoded;
  if (const Defect defect =
          jpeg.Decode(payload.bytes, payload.width, payload.height, window, decoded)) {
    return defect;
  }
  // libjpeg decodes whole MCUs, so there are columns outside the bounds; they must not be mixed in.
  const std::uint32_t r = decoded.reduction;
  const std::uint32_t left = std::max(decoded.left, region.x.bound / r);
  const std::uint32_t right =
      std::min(decoded.left + decoded.width, (region.x.bound + region.x.bound_length + r - 1) / r);
  part.view = {decoded.pixels + std::size_t{left - decoded.left} * channels, decoded.stride,
               right - left, decoded.height, channels};
  part.reduction = r;
  part.left = left;
  part.top = decoded.top;
  return nullptr;
}

Defect PayloadDecoder::State::RawBytes(const ImagePayload& payload, Bytes& pixels) {
  pixels = payload.bytes;
  if (payload.codec != Codec::kZstd) return nullptr;
  if (inflated_for_views) {
    pixels = inflated;
    return nullptr;
  }
  inflated.resize(std::size_t{payload.width} * payload.height * payload.channels *
                  SizeOf(payload.pixel_type));
  if (!ZstdDecompress(payload.bytes, inflated)) return "the zstd frame cannot be decompressed";
  pixels = inflated;
  return nullptr;
}

Defect PayloadDecoder::State::RawPixels(const ImagePayload& payload, const Region& region,
                                        std::uint32_t channels, Part& part) {
  Bytes pixels;
  if (const Defect defect = RawBytes(payload, pixels)) return defect;
  const std::size_t stride = std::size_t{payload.width} * payload.channels;
  const auto* first = reinterpret_cast<const std::uint8_t*>(pixels.data()) +
                      region.y.bound * stride + std::size_t{region.x.bound} * payload.channels;
  part.view = {first, stride, region.x.bound_length, region.y.bound_length, payload.channels};
  part.left = region.x.bound;
  part.top = region.y.bound;
  if (payload.channels != channels) {
    if (!(payload.channels == 1 && channels == 3) && !(payload.channels == 3 && channels == 1)) {
      return "an image of this many channels cannot be converted to what is asked for";
    }
    ConvertChannels(region, channels, part);
  }
  return nullptr;
}

void PayloadDecoder::State::ConvertChannels(const Region& region, std::uint32_t channels,
                                            Part& part) {
  std::uint32_t left = 0, top = 0, width = 0, height = 0;
  NeededPixels(region.x, left, width);
  NeededPixels(region.y, top, height);
  converted.resize(std::size_t{width} * height * channels);
  std::uint8_t* out = converted.data();
  for (std::uint32_t y = 0; y < height; ++y) {
    const std::uint8_t* in = part.view.data + std::size_t{top - part.top + y} * part.view.stride +
                             std::size_t{left - part.left} * part.view.channels;
    for (std::uint32_t x = 0; x < width; ++x) {
      if (channels == 1) {
        *out++ = GreyOf(in);
        in += 3;
      } else {
        out = std::fill_n(out, 3, *in++);
      }
    }
  }
  part.view = {converted.data(), std::size_t{width} * channels, width, height, channels};
  part.left = left;
  part.top = top;
}

// Copies or resamples the part's pixels into the target.
void PayloadDecoder::State::Finish(const Part& part, const Region& region,
                                   const PixelTarget& target) {
  const PixelView& view = part.view;
  if (part.reduction == 1 && CopiesPixels(region.x) && CopiesPixels(region.y)) {
    interleaved.Copy(view, static_cast<std::uint32_t>(region.x.start) - part.left,
                     static_cast<std::uint32_t>(region.y.start) - part.top, region, target);
    return;
  }
  interleaved.Resample(
      view, AxisOfPart(region.x, part.reduction, part.left, view.width, region.filter),
      AxisOfPart(region.y, part.reduction, part.top, view.height, region.filter), region, target);
}

Defect PayloadDecoder::State::DecodeWide(const ImagePayload& payload, const Region& region,
                                         const PixelTarget& target) {
  if (!LiesInside(region, payload.width, payload.height))
    return "the region does not lie inside the image";
  if (!WideDecoder::Copies(region) || target.channels != payload.channels)
    return "the pixels of a wide image can only be copied, in its own channels";
  if (const Defect defect = wide.Open(payload)) return defect;
  std::array<std::uint32_t, 256> channels;
  std::iota(channels.begin(), channels.end(), 0U);
  return wide.Copy(region, std::span(channels).first(payload.channels), 0, target.order,
                   target.data);
}

Defect PayloadDecoder::State::DecodeUpright(const ImagePayload& payload, const Region& region,
                                            const PixelTarget& target, const ColumnPlane* planes) {
  if (payload.codec == Codec::kAbsent) return "the sample has no image";
  if (const Defect defect = CheckStored(payload)) return defect;
  if (!LiesInside(region, payload.width, payload.height))
    return "the region does not lie inside the image";
  if (region.x.out == 0 || region.y.out == 0) {  // nothing but padding
    if (target.keeps_border) return nullptr;
    std::memset(target.data, 0, std::size_t{region.x.target} * region.y.target * target.channels);
    return nullptr;
  }
  switch (payload.codec) {
    case Codec::kJpeg: return DecodeJpeg(payload, region, target, planes);
    case Codec::kPacked: return DecodePacked(payload, region, target);
    case Codec::kRaw:
    case Codec::kZstd: {
      Part part;
      const Defect defect = RawPixels(payload, region, target.channels, part);
      if (defect == nullptr) Finish(part, region, target);
      return defect;
    }
    case Codec::kTiled:
    case Codec::kAbsent: break;
  }
  return nullptr;
}

bool PayloadDecoder::DecodeYcc420(const ImagePayload& payload, const Region& region,
                                  std::uint8_t* values) {
  State& state = *state_;
  if (payload.codec != Codec::kJpeg || payload.pixel_type != PixelType::kUint8 ||
      region.bordered() || !LiesInside(region, payload.width, payload.height)) {
    return false;
  }
  Region upright = region;
  upright.transpose = false;
  const std::uint32_t width = upright.width();
  const std::uint32_t height = upright.height();
  if (region.transpose) state.upright.resize(Ycc420Values(width, height));
  std::uint8_t* const out = region.transpose ? state.upright.data() : values;
  DecodePolicy policy = state.policy;
  policy.halved_chroma = true;
  if (state.baseline.Decode(payload.bytes, payload.width, payload.height, upright, policy)) {
    if (state.baseline.components() != 3) return false;
    state.planar.RunYcc420(state.baseline.planes(), upright, out);
  } else {
    if (state.jpeg_planes.Decode(payload.bytes, payload.width, payload.height, upright, policy) !=
            JpegPlanes::Outcome::kDecoded ||
        state.jpeg_planes.components() != 3) {
      return false;
    }
    state.planar.RunYcc420(state.jpeg_planes.planes(), upright, out);
  }
  if (region.transpose) {
    TransposePixels(out, width, height, {values, 1}, 1);
    const std::size_t luma = std::size_t{width} * height;
    TransposePixels(out + luma, (width + 1) / 2, (height + 1) / 2,
                    {values + luma, 2, PixelOrder::kPlanar}, 1);
  }
  return true;
}

PayloadDecoder::PayloadDecoder(DecodePolicy policy) : state_(std::make_unique<State>(policy)) {}
PayloadDecoder::~PayloadDecoder() = default;
PayloadDecoder::PayloadDecoder(PayloadDecoder&&) noexcept = default;
PayloadDecoder& PayloadDecoder::operator=(PayloadDecoder&&) noexcept = default;

Defect PayloadDecoder::State::Decode(const ImagePayload& payload, const Region& region,
                                     const PixelTarget& target, const ColumnPlane* planes) {
  if (IsWide(payload.pixel_type, payload.channels)) return DecodeWide(payload, region, target);
  if (!region.transpose) {
    const Defect defect = DecodeUpright(payload, region, target, planes);
    if (defect == nullptr && !target.keeps_border) FillBorder(region, target, 1);
    return defect;
  }
  Region first_region = region;
  first_region.transpose = false;
  if (target.keeps_border) first_region = WithoutBorder(first_region);
  const std::uint32_t width = first_region.x.target, height = first_region.y.target;
  upright.resize(std::size_t{width} * height * target.channels);
  const PixelTarget first{upright.data(), target.channels, target.order, false,
                          target.keeps_border};
  if (const Defect defect = Decode(payload, first_region, first, planes)) return defect;
  if (!target.keeps_border) {
    TransposePixels(upright.data(), width, height, target, 1);
    return nullptr;
  }
  turned.resize(upright.size());
  TransposePixels(upright.data(), width, height, {turned.data(), target.channels, target.order}, 1);
  PlacePixels(turned.data(), region, target, 1);
  return nullptr;
}

WideDecoder& PayloadDecoder::wide() noexcept {
  return state_->wide;
}

Defect PayloadDecoder::Decode(const ImagePayload& payload, const Region& region,
                              const PixelTarget& target) {
  state_->inflated_for_views = false;
  return state_->Decode(payload, region, target, nullptr);
}

void PayloadDecoder::DecodeViews(const ImagePayload& payload, std::span<const Region> regions) {
  State& state = *state_;
  state.view_regions.clear();
  state.view_planes.assign(regions.size(), State::kAlone);
  state.inflated_for_views = false;
  Bytes pixels;  // a frame that is broken is inflated again for each view, which says so
  if (IsWide(payload.pixel_type, payload.channels)) return;
  if (payload.codec == Codec::kZstd && CheckStored(payload) == nullptr)
    state.inflated_for_views = state.RawBytes(payload, pixels) == nullptr;
  if (payload.codec != Codec::kJpeg) return;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].x.out == 0 || regions[i].y.out == 0 ||
        !LiesInside(regions[i], payload.width, payload.height))
      continue;
    state.view_planes[i] = state.view_regions.size();
    state.view_regions.push_back(regions[i]);
  }
  const std::size_t decoded =
      state.baseline.DecodeViews(payload.bytes, payload.width, payload.height, state.view_regions);
  for (std::size_t& planes : state.view_planes) {
    if (planes >= decoded) planes = State::kAlone;
  }
}

Defect PayloadDecoder::DecodeView(std::size_t i, const ImagePayload& payload, const Region& region,
                                  const PixelTarget& target) {
  const std::size_t number = state_->view_planes[i];
  return state_->Decode(payload, region, target,
                        number == State::kAlone ? nullptr : state_->baseline.view_planes(number));
}

}  // namespace sluice
