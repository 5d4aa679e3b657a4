#include "writer/fit/fit_picture.h"

#include <algorithm>

namespace sluice {

namespace {

// The interval [start, start + length) of the upright picture, on the stored picture's axis that
// runs along it; `full` is that axis' size.
Axis StoredAxis(double start, double length, std::uint32_t out, bool mirrored, std::uint32_t full) {
  Axis axis;
  axis.start = mirrored ? full - start - length : start;
  axis.length = length;
  axis.out = out;
  axis.mirrored = mirrored;
  return axis;
}

Axis Reduced(Axis axis, std::uint32_t reduction) {
  axis.start /= reduction;
  axis.length /= reduction;
  return axis;
}

Picture Transposed(const Picture& in) {
  Picture out;
  out.width = in.height;
  out.height = in.width;
  out.channels = in.channels;
  out.pixels.resize(in.pixels.size());
  const std::uint8_t* from = in.pixels.data();
  for (std::size_t y = 0; y < in.height; ++y) {
    for (std::size_t x = 0; x < in.width; ++x, from += in.channels) {
      std::copy_n(from, in.channels, &out.pixels[(x * out.width + y) * in.channels]);
    }
  }
  return out;
}

// Pads with black on all sides.
Picture Padded(const Picture& in, const FittedGeometry& geometry) {
  Picture out;
  out.width = geometry.target_width;
  out.height = geometry.target_height;
  out.channels = in.channels;
  out.pixels.resize(std::size_t{out.width} * out.height * out.channels);
  const std::size_t row_bytes = std::size_t{in.width} * in.channels;
  for (std::size_t y = 0; y < in.height; ++y) {
    const std::size_t at = ((y + geometry.y) * out.width + geometry.x) * in.channels;
    std::copy_n(&in.pixels[y * row_bytes], row_bytes, &out.pixels[at]);
  }
  return out;
}

}  // namespace

StoredPart StoredPartOf(std::uint32_t stored_width, std::uint32_t stored_height,
                        Orientation orientation, const FittedGeometry& geometry) {
  // The upright picture's axes, named after the stored axes that run along them.
  const bool turned = orientation.transposed;
  StoredPart part;
  part.x = StoredAxis(
      turned ? geometry.top : geometry.left, turned ? geometry.height : geometry.width,
      turned ? geometry.out_height : geometry.out_width, orientation.mirror_x, stored_width);
  part.y = StoredAxis(
      turned ? geometry.left : geometry.top, turned ? geometry.width : geometry.height,
      turned ? geometry.out_width : geometry.out_height, orientation.mirror_y, stored_height);
  return part;
}

Picture TurnAndPad(Picture picture, Orientation orientation, const FittedGeometry& geometry) {
  if (orientation.transposed) picture = Transposed(picture);
  if (picture.width != geometry.target_width || picture.height != geometry.target_height) {
    picture = Padded(picture, geometry);
  }
  return picture;
}

Picture FitPicture(Picture picture, std::uint32_t reduction, const Placement& placement,
                   Resampler& resampler) {
  const auto& [stored_width, stored_height, orientation, geometry] = placement;
  if (geometry.unchanged && orientation.identity()) return picture;
  const StoredPart part = StoredPartOf(stored_width, stored_height, orientation, geometry);
  const Axis x = Reduced(part.x, reduction);
  const Axis y = Reduced(part.y, reduction);
  Picture out;
  out.width = x.out;
  out.height = y.out;
  out.channels = picture.channels;
  out.pixels.resize(std::size_t{out.width} * out.height * out.channels);
  resampler.Resample({picture.pixels.data(), std::size_t{picture.width} * picture.channels,
                      picture.width, picture.height, picture.channels},
                     x, y, {out.pixels.data(), std::size_t{out.width} * out.channels});
  picture = Picture{};  // frees its memory before more is allocated
  return TurnAndPad(std::move(out), orientation, geometry);
}

Picture GreyToRgb(const Picture& grey) {
  Picture rgb;
  rgb.width = grey.width;
  rgb.height = grey.height;
  rgb.channels = 3;
  rgb.pixels.resize(grey.pixels.size() * 3);
  std::uint8_t* out = rgb.pixels.data();
  for (const std::uint8_t value : grey.pixels)
    out = std::fill_n(out, 3, value);
  return rgb;
}

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

bool IsResized(const FittedGeometry& geometry) noexcept {
  return geometry.width != geometry.out_width || geometry.height != geometry.out_height;
}

// Whether the picture can be made from planes.
bool HasPlanes(const JpegSource& source) noexcept {
  const J_COLOR_SPACE colors = source.header().jpeg_color_space;
  return (colors == JCS_YCbCr || colors == JCS_GRAYSCALE) && !source.may_lack_scans();
}

// Whether RGB made from planes is the picture that is wanted.
bool GivesRgb(const JpegSource& source, const FittedGeometry& geometry) noexcept {
  // Halved components are enlarged slightly differently than libjpeg does, and planes take memory
  // besides the whole pixels.
  return IsResized(geometry) ||
         (HasFullSizeComponents(source.header()) && PixelsOf(source) <= kKeptPixels);
}

bool GivesYcc420(const JpegSource& source, const FittedGeometry& geometry) noexcept {
  const bool padded =
      geometry.target_width != geometry.out_width || geometry.target_height != geometry.out_height;
  return source.header().num_components == 3 && !padded &&
         (IsResized(geometry) || PixelsOf(source) <= kKeptPixels);
}

Span SpanOf(const Axis& axis, std::uint32_t size) noexcept {
  return {std::max(axis.start, 0.0), axis.length, 0, size, axis.out, 0, axis.out};
}

}  // namespace

// Fills a picture whose form is set, upright. False if it cannot be made from planes.
bool JpegFitter::FitPlanes(const JpegSource& source, Bytes file, const FittedGeometry& geometry,
                           Picture& picture) {
  const Orientation orientation = source.orientation();
  const StoredPart part = StoredPartOf(source.width(), source.height(), orientation, geometry);
  Region region;
  region.x = SpanOf(part.x, source.width());
  region.y = SpanOf(part.y, source.height());
  region.flip = part.x.mirrored;
  region.flip_y = part.y.mirrored;
  region.transpose = orientation.transposed;
  const ImagePayload payload{
      Codec::kJpeg,   PixelType::kUint8, static_cast<std::uint8_t>(picture.channels),
      source.width(), source.height(),   file};
  picture.width = region.width();
  picture.height = region.height();
  bool decoded = false;
  if (picture.ycc420) {
    picture.pixels.resize(Ycc420Values(picture.width, picture.height));
    decoded = decoder_.DecodeYcc420(payload, region, picture.pixels.data());
  } else {
    picture.pixels.resize(std::size_t{picture.width} * picture.height * picture.channels);
    const PixelTarget target{picture.pixels.data(), picture.channels, PixelOrder::kInterleaved};
    decoded = decoder_.Decode(payload, region, target) == nullptr;
  }
  if (PixelsOf(source) > kKeptPixels) decoder_ = PayloadDecoder(kPolicy);
  return decoded;
}

Picture JpegFitter::Fit(JpegSource& source, Bytes file, const ColorRules& rules,
                        const FittedGeometry& geometry, bool ycc420) {
  // A profile describes colours, and planes are not colours yet.
  if (rules.transform == nullptr && HasPlanes(source)) {
    Picture picture;
    picture.channels = rules.channels == 1 || source.header().num_components == 1 ? 1 : 3;
    picture.ycc420 = ycc420 && picture.channels == 3 && GivesYcc420(source, geometry);
    if (picture.ycc420 && FitPlanes(source, file, geometry, picture)) return picture;
    picture.ycc420 = false;
    if (GivesRgb(source, geometry) && FitPlanes(source, file, geometry, picture)) {
      return TurnAndPad(std::move(picture), Orientation{}, geometry);
    }
  }
  // Other colours, cut short, or broken; if broken, libjpeg's own sentence is the reason.
  const std::uint32_t reduction = DecodeReduction(geometry);
  return FitPicture(source.Decode(rules, reduction), reduction,
                    {source.width(), source.height(), source.orientation(), geometry}, resampler_);
}

}  // namespace sluice
