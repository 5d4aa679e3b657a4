#include "reader/transform/row_writer.h"

#include <algorithm>
#include <cmath>

#include "format/pixels/nearest.h"

namespace sluice {

Pixels RowWriter::PixelsFor(const Frame& frame, const PixelProgram& program,
                            const PixelTarget& row) {
  Pixels pixels{row.data, frame.region.width(), frame.region.height(), row.channels};
  if (row.order == PixelOrder::kInterleaved && !program.output()) return pixels;
  pixels_.resize(pixels.bytes());
  pixels.data = pixels_.data();
  return pixels;
}

Pixels RowWriter::Unwarped(const Pixels& pixels) {
  unwarped_.resize(pixels.bytes());
  Pixels unwarped = pixels;
  unwarped.data = unwarped_.data();
  return unwarped;
}

void RowWriter::Finish(const Pixels& before_warp, const Pixels& after_warp, const Frame& frame,
                       const PixelProgram& program, const Place& place, const PixelTarget& row) {
  if (frame.warped)
    WarpBilinear(before_warp, frame.warp.Inverse(), frame.warp_fill.data(), after_warp);
  program.Run(after_warp, place.draw_seed, place.position, scratch_, place.stage);
  if (after_warp.data != row.data) program.Write(after_warp, row.order, row.data);
}

void RowWriter::WarpMask(const Frame& frame, std::uint32_t value_bytes, std::uint16_t fill,
                         const PixelTarget& row) {
  const std::uint32_t width = frame.region.width(), height = frame.region.height();
  const bool planar = row.order == PixelOrder::kPlanar;
  const std::uint32_t pixel = value_bytes * (planar ? 1 : row.channels);
  const std::size_t plane = std::size_t{width} * height * pixel;
  std::uint8_t outside[2 * 255];  // one pixel: at most 255 channels of two bytes
  SetValues(outside, pixel / value_bytes, value_bytes, fill);
  for (std::size_t part = 0; part < (planar ? row.channels : 1); ++part) {
    const Pixels in{unwarped_.data() + part * plane, width, height, pixel};
    WarpNearest(in, frame.warp.Inverse(), outside, {row.data + part * plane, width, height, pixel});
  }
}

namespace {

// Source pixels of an axis: [begin, end).
struct Range {
  std::uint32_t begin = 0, end = 0;
  double size() const noexcept { return double(end) - begin; }
  void Cover(const Range& other) noexcept {
    if (other.begin == other.end) return;
    if (begin == end) {
      *this = other;
      return;
    }
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
};

// The source pixels that a span needs, with the reach of its filter. Empty if it shows nothing.
Range Needed(const Span& span) noexcept {
  if (span.out == 0) return {};
  const double reach = std::max(1.0, span.length / span.out) + 1;
  const double begin = std::floor(span.start - reach);
  const double end = std::ceil(span.start + span.length + reach);
  return {static_cast<std::uint32_t>(std::max(begin, double(span.bound))),
          static_cast<std::uint32_t>(std::min(end, double(span.bound) + span.bound_length))};
}

struct Part {
  Range x, y;
};
Part Covering(std::span<const Frame> frames) noexcept {
  Part part;
  for (const Frame& frame : frames) {
    if (frame.region.x.out == 0 || frame.region.y.out == 0) continue;
    part.x.Cover(Needed(frame.region.x));
    part.y.Cover(Needed(frame.region.y));
  }
  return part;
}

}  // namespace

// A JPEG takes 2.6 ns a pixel if all of it is decoded, and 1.3 ns for a random-resized-crop, which
// reads 72% of the rows (bench/MEASURED.md). Entropy decoding is 60% of the 1.3 ns, so it takes 1.3
// x 60% / 72%, about 1.0, for each pixel of those rows (`read`). The rest of the 2.6 ns is `whole`.
// Packed images spend little on entropy decoding. Resampling raw pixels has not been measured by
// itself: `sample` is an estimate.
DecodeCosts DecodeCosts::Of(Codec codec) noexcept {
  switch (codec) {
    case Codec::kJpeg: return {.read = 1.0, .reduce = 0.8, .whole = 1.6, .sample = 0.5};
    case Codec::kPacked: return {.read = 0.2, .reduce = 0.8, .whole = 1.6, .sample = 0.5};
    case Codec::kRaw:
    case Codec::kZstd:
    case Codec::kAbsent: break;
  }
  return {};
}

bool SharedPart::Cheaper(const ImagePayload& payload, std::span<const Frame> frames,
                         std::uint32_t views_version) noexcept {
  if (frames.size() < 2) return false;
  if (payload.codec == Codec::kJpeg && views_version >= 2) return false;
  // Raw pixels need no decoding. Zstandard must inflate all pixels to reach any of them.
  if (payload.codec == Codec::kRaw) return false;
  if (payload.codec == Codec::kZstd) return true;
  const DecodeCosts costs = DecodeCosts::Of(payload.codec);
  const Part all = Covering(frames);
  double alone = 0;
  double together = all.y.size() * (payload.width * costs.read + all.x.size() * costs.whole);
  for (const Frame& frame : frames) {
    const Part part = Covering({&frame, 1});
    const double window = part.x.size() * part.y.size();
    alone += part.y.size() * payload.width * costs.read + window * costs.reduce;
    together += window * costs.sample;
  }
  return together < alone;
}

Defect SharedPart::Decode(PayloadDecoder& decoder, const ImagePayload& payload,
                          std::span<const Frame> frames, std::uint32_t channels) {
  const Part part = Covering(frames);
  left_ = part.x.begin;
  top_ = part.y.begin;
  width_ = part.x.end - part.x.begin;
  height_ = part.y.end - part.y.begin;
  channels_ = channels;
  pixels_.resize(std::size_t{width_} * height_ * channels);
  if (pixels_.empty()) return nullptr;
  const auto span = [](const Range& range) {
    const std::uint32_t size = range.end - range.begin;
    return Span{.start = double(range.begin),
                .length = double(size),
                .bound = range.begin,
                .bound_length = size,
                .out = size,
                .at = 0,
                .target = size};
  };
  Region region;
  region.x = span(part.x);
  region.y = span(part.y);
  return decoder.Decode(
      payload, region,
      {reinterpret_cast<std::uint8_t*>(pixels_.data()), channels, PixelOrder::kInterleaved});
}

Defect SharedPart::Take(PayloadDecoder& decoder, const Region& region,
                        const PixelTarget& target) const {
  const ImagePayload part{Codec::kRaw, PixelType::kUint8, static_cast<std::uint8_t>(channels_),
                          width_,      height_,           pixels_};
  const auto within = [](Span& span, std::uint32_t begin, std::uint32_t size) {
    const std::uint32_t first = std::max(span.bound, begin);
    const std::uint32_t end = std::min(span.bound + span.bound_length, begin + size);
    span.start -= begin;
    span.bound = first - begin;
    span.bound_length = end - first;
  };
  Region shifted = region;
  if (region.x.out > 0 && region.y.out > 0) {
    within(shifted.x, left_, width_);
    within(shifted.y, top_, height_);
  } else {  // only border: any pixel will do
    shifted.x.out = shifted.y.out = 0;
    shifted.x.start = shifted.y.start = 0;
    shifted.x.length = shifted.y.length = 1;
    shifted.x.bound = shifted.y.bound = 0;
    shifted.x.bound_length = shifted.y.bound_length = 1;
  }
  return decoder.Decode(part, shifted, target);
}

}  // namespace sluice
