#include "writer/fit/jpeg_fitter.h"

#include <algorithm>

#include "writer/fit/fit_picture.h"

namespace sluice {

namespace {

// Planes of larger pictures are freed: they may never be needed again.
constexpr std::uint64_t kKeptPixels = 16'000'000;

std::uint64_t PixelsOf(const JpegSource& source) noexcept {
  return std::uint64_t{source.width()} * source.height();
}

bool HasFullSizeComponents(const jpeg_decompress_struct& header) noexcept {
  const jpeg_component_info* const first = header.comp_info;
  return std::all_of(first, first + header.num_components, [&](const jpeg_component_info& info) {
    return info.h_samp_factor == header.max_h_samp_factor &&
           info.v_samp_factor == header.max_v_samp_factor;
  });
}

// Whether the picture can be made from planes, and that gives the pixels wanted.
bool GoesByPlanes(const JpegSource& source, const FittedGeometry& geometry) noexcept {
  const jpeg_decompress_struct& header = source.header();
  if (header.jpeg_color_space != JCS_YCbCr && header.jpeg_color_space != JCS_GRAYSCALE) {
    return false;
  }
  if (source.may_lack_scans()) return false;
  const bool resized =
      geometry.width != geometry.out_width || geometry.height != geometry.out_height;
  // Halved components are enlarged slightly differently than libjpeg does, and planes take memory
  // besides the whole pixels.
  return resized || (HasFullSizeComponents(header) && PixelsOf(source) <= kKeptPixels);
}

Span SpanOf(const Axis& axis, std::uint32_t size) noexcept {
  return {std::max(axis.start, 0.0), axis.length, 0, size, axis.out, 0, axis.out};
}

void MirrorRows(Picture& picture) {
  const std::size_t stride = std::size_t{picture.width} * picture.channels;
  for (std::uint32_t y = 0; y < picture.height / 2; ++y) {
    std::uint8_t* const row = picture.pixels.data() + y * stride;
    std::swap_ranges(row, row + stride, picture.pixels.data() + (picture.height - 1 - y) * stride);
  }
}

}  // namespace

// False if the picture cannot be made from planes.
bool JpegFitter::FitPlanes(const JpegSource& source, Bytes file, std::uint32_t channels,
                           const FittedGeometry& geometry, Picture& picture) {
  const StoredPart part =
      StoredPartOf(source.width(), source.height(), source.orientation(), geometry);
  const bool grey = channels == 1 || source.header().num_components == 1;
  picture.width = part.x.out;
  picture.height = part.y.out;
  picture.channels = grey ? 1 : 3;
  picture.pixels.resize(std::size_t{picture.width} * picture.height * picture.channels);
  const ImagePayload payload{
      Codec::kJpeg,   PixelType::kUint8, static_cast<std::uint8_t>(picture.channels),
      source.width(), source.height(),   file};
  const Region region{SpanOf(part.x, source.width()), SpanOf(part.y, source.height()),
                      part.x.mirrored};
  const bool decoded = decoder_.Decode(payload, region,
                                       {picture.pixels.data(), picture.channels,
                                        PixelOrder::kInterleaved}) == nullptr;
  if (PixelsOf(source) > kKeptPixels) decoder_ = PayloadDecoder(kPolicy);
  if (decoded && part.y.mirrored) MirrorRows(picture);
  return decoded;
}

Picture JpegFitter::Fit(JpegSource& source, Bytes file, const ColorRules& rules,
                        const FittedGeometry& geometry) {
  // A profile describes colours, and planes are not colours yet.
  if (Picture picture; rules.transform == nullptr && GoesByPlanes(source, geometry) &&
                       FitPlanes(source, file, rules.channels, geometry, picture)) {
    return TurnAndPad(std::move(picture), source.orientation(), geometry);
  }
  // Other colours, cut short, or broken; if broken, libjpeg's own sentence is the reason.
  const std::uint32_t reduction = DecodeReduction(geometry);
  return FitPicture(source.Decode(rules, reduction), reduction, source.width(), source.height(),
                    source.orientation(), geometry, resampler_);
}

}  // namespace sluice
