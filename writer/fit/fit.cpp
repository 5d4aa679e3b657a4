// FitGeometry() finds, for the upright picture, which part is taken and which size it gets.
// StoredPartOf() turns this part into intervals on the axes of the file's picture (as its rows are
// stored, before it is turned upright). So pixels are mirrored while they are resampled, and only
// the result is transposed and padded. The same geometry is applied to boxes, key points and masks.
#include "writer/fit/fit.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include <sluice/error.h>

#include "format/boxes_and_points.h"
#include "format/disk/limits.h"
#include "format/pixels/wide.h"

namespace sluice {

namespace {

// side * numerator / denominator, rounded half up, at least 1.
std::uint32_t Scaled(std::uint64_t side, std::uint64_t numerator, std::uint64_t denominator) {
  const std::uint64_t scaled = (2 * side * numerator + denominator) / (2 * denominator);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, scaled));
}

FittedGeometry Whole(std::uint32_t width, std::uint32_t height, std::uint32_t out_width,
                     std::uint32_t out_height) {
  FittedGeometry geometry;
  geometry.width = width;
  geometry.height = height;
  geometry.out_width = geometry.target_width = out_width;
  geometry.out_height = geometry.target_height = out_height;
  geometry.unchanged = width == out_width && height == out_height;
  return geometry;
}

// Scales both sides by `to` / `from`.
FittedGeometry Proportional(std::uint32_t width, std::uint32_t height, std::uint32_t to,
                            std::uint32_t from) {
  return Whole(width, height, Scaled(width, to, from), Scaled(height, to, from));
}

// A crop's sides stay fractions of a pixel: rounding them would change the aspect ratio, and the
// resampler takes any interval.
FittedGeometry FitSize(std::uint32_t width, std::uint32_t height, Size size, Fit fit) {
  const bool wider = std::uint64_t{width} * size.height >= std::uint64_t{height} * size.width;
  FittedGeometry geometry = Whole(width, height, size.width, size.height);
  if (geometry.unchanged || fit == Fit::kStretch) return geometry;
  if (fit == Fit::kCrop) {
    if (wider) {
      geometry.width = static_cast<double>(height) * size.width / size.height;
      geometry.left = (width - geometry.width) / 2;
    } else {
      geometry.height = static_cast<double>(width) * size.height / size.width;
      geometry.top = (height - geometry.height) / 2;
    }
    return geometry;
  }
  if (wider) {
    geometry.out_height = std::min(size.height, Scaled(height, size.width, width));
  } else {
    geometry.out_width = std::min(size.width, Scaled(width, size.height, height));
  }
  geometry.x = (size.width - geometry.out_width) / 2;
  geometry.y = (size.height - geometry.out_height) / 2;
  return geometry;
}

}  // namespace

FittedGeometry FitGeometry(std::uint32_t width, std::uint32_t height,
                           const ConvertOptions& options) {
  if (options.geometry.size)
    return FitSize(width, height, *options.geometry.size, options.geometry.fit);
  const std::uint32_t longer = std::max(width, height);
  const std::uint32_t shorter = std::min(width, height);
  if (options.geometry.max_side && longer > *options.geometry.max_side) {
    return Proportional(width, height, *options.geometry.max_side, longer);
  }
  if (options.geometry.short_side && shorter > *options.geometry.short_side) {
    return Proportional(width, height, *options.geometry.short_side, shorter);
  }
  return Whole(width, height, width, height);
}

bool IsSmallerThanTarget(const FittedGeometry& geometry, const ConvertOptions& options) noexcept {
  if (options.geometry.size) {
    return geometry.out_width > geometry.width || geometry.out_height > geometry.height;
  }
  return options.geometry.short_side &&
         std::min(geometry.target_width, geometry.target_height) < *options.geometry.short_side;
}

std::uint32_t DecodeReduction(const FittedGeometry& geometry) noexcept {
  for (const std::uint32_t reduction : {8U, 4U, 2U}) {
    if (geometry.width >= 2.0 * reduction * geometry.out_width &&
        geometry.height >= 2.0 * reduction * geometry.out_height) {
      return reduction;
    }
  }
  return 1;
}

namespace {

// The interval [start, start + length) of the upright picture, expressed on the parallel axis of
// the file's picture. `full` is that axis' size.
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
  Picture out = NewPicture(in.height, in.width, in.channels);
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
  Picture out = NewPicture(geometry.target_width, geometry.target_height, in.channels);
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
  // part.x is an interval on the x axis of the file's picture. If the picture is transposed, that
  // axis runs along the upright picture's y axis.
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
  Picture out = NewPicture(x.out, y.out, picture.channels);
  resampler.Resample({picture.pixels.data(), std::size_t{picture.width} * picture.channels,
                      picture.width, picture.height, picture.channels},
                     x, y, {out.pixels.data(), std::size_t{out.width} * out.channels});
  picture = Picture{};  // frees its memory before more is allocated
  return TurnAndPad(std::move(out), orientation, geometry);
}

Picture GreyToRgb(const Picture& grey) {
  Picture rgb = NewPicture(grey.width, grey.height, 3);
  std::uint8_t* out = rgb.pixels.data();
  for (const std::uint8_t value : grey.pixels)
    out = std::fill_n(out, 3, value);
  return rgb;
}

namespace {

// After a larger picture, the decoder's memory is freed: perhaps no later picture needs as much.
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

// Whether the decoder can give the JPEG's planes: one each for Y, Cb and Cr, or for grey.
bool HasPlanes(const JpegSource& source) noexcept {
  const J_COLOR_SPACE colors = source.header().jpeg_color_space;
  return (colors == JCS_YCbCr || colors == JCS_GRAYSCALE) && !source.may_lack_scans();
}

// Whether to make RGB from planes. A picture that keeps its size must equal libjpeg's, so its
// planes must all have full size: halved planes are enlarged slightly differently from libjpeg. It
// must also be small, since planes take memory in addition to the pixels. A resized picture may be
// made from any planes.
bool GivesRgb(const JpegSource& source, const FittedGeometry& geometry) noexcept {
  return IsResized(geometry) ||
         (HasFullSizeComponents(source.header()) && PixelsOf(source) <= kKeptPixels);
}

bool GivesYcc420(const JpegSource& source, const FittedGeometry& geometry) noexcept {
  const bool padded =
      geometry.target_width != geometry.out_width || geometry.target_height != geometry.out_height;
  return source.header().num_components == 3 && !padded &&
         (IsResized(geometry) || PixelsOf(source) <= kKeptPixels);
}

// Mirroring computes a start by subtraction, which may leave it a rounding error below 0.
Span SpanOf(const Axis& axis, std::uint32_t size) noexcept {
  return {std::max(axis.start, 0.0), axis.length, 0, size, axis.out, 0, axis.out};
}

}  // namespace

// Fills `picture`, whose channels and ycc420 are set, with upright pixels. False if it cannot be
// made from planes.
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
  // A colour profile applies to RGB values, and planes still hold Y, Cb and Cr.
  if (rules.transform == nullptr && HasPlanes(source)) {
    Picture picture;
    picture.channels = rules.channels == 1 || source.header().num_components == 1 ? 1 : 3;
    picture.ycc420 = ycc420 && picture.channels == 3 && GivesYcc420(source, geometry);
    // The best case: planes go from the decoder to the encoder, and no pixel becomes RGB in
    // between.
    if (picture.ycc420 && FitPlanes(source, file, geometry, picture)) return picture;
    picture.ycc420 = false;
    if (GivesRgb(source, geometry) && FitPlanes(source, file, geometry, picture)) {
      return TurnAndPad(std::move(picture), Orientation{}, geometry);
    }
  }
  // libjpeg decodes the file if planes could not be used (a colour profile, another colour space,
  // halved planes of a picture that keeps its size, a large picture) or could not be decoded. If
  // the file is broken, libjpeg throws the error that the user gets.
  const std::uint32_t reduction = DecodeReduction(geometry);
  return FitPicture(source.Decode(rules, reduction), reduction,
                    {source.width(), source.height(), source.orientation(), geometry}, resampler_);
}

namespace {

struct Box {
  double left, top, right, bottom;
};

// Maps a box from the file's pixels, or from fractions of its sides, to pixels of the upright
// picture (see Orientation: first a stored axis is mirrored, then the axes are exchanged).
Box Turned(Box box, bool relative, const Placement& placement) {
  if (relative) {
    box = {box.left * placement.stored_width, box.top * placement.stored_height,
           box.right * placement.stored_width, box.bottom * placement.stored_height};
  }
  const Orientation& orientation = placement.orientation;
  if (orientation.mirror_x) {
    box = {placement.stored_width - box.right, box.top, placement.stored_width - box.left,
           box.bottom};
  }
  if (orientation.mirror_y) {
    box = {box.left, placement.stored_height - box.bottom, box.right,
           placement.stored_height - box.top};
  }
  if (orientation.transposed) box = {box.top, box.left, box.bottom, box.right};
  return box;
}

double Scaled(double at, double start, double length, std::uint32_t out, std::uint32_t offset) {
  return std::clamp((at - start) * out / length, 0.0, static_cast<double>(out)) + offset;
}

}  // namespace

FittedBoxes FitBoxes(std::span<const double> corners, bool relative, const Placement& placement) {
  const FittedGeometry& geometry = placement.geometry;
  const auto x = [&geometry](double at) {
    return static_cast<float>(
        Scaled(at, geometry.left, geometry.width, geometry.out_width, geometry.x));
  };
  const auto y = [&geometry](double at) {
    return static_cast<float>(
        Scaled(at, geometry.top, geometry.height, geometry.out_height, geometry.y));
  };
  FittedBoxes fitted;
  for (std::size_t i = 0; i + 4 <= corners.size(); i += 4) {
    const Box box =
        Turned({corners[i], corners[i + 1], corners[i + 2], corners[i + 3]}, relative, placement);
    const float out[4] = {x(box.left), y(box.top), x(box.right), y(box.bottom)};
    // Scaled() cuts boxes off at the edges, so nothing is left of a box that lay outside. `taken`
    // says which boxes remain: fields with an entry for each box must lose the same ones.
    if (!(out[0] < out[2] && out[1] < out[3])) continue;  // also if a corner is not a number
    fitted.corners.insert(fitted.corners.end(), out, out + 4);
    fitted.taken.push_back(i / 4);
  }
  return fitted;
}

FittedBoxes FitOrientedBoxes(std::span<const double> corners, bool relative,
                             const Placement& placement) {
  const FittedGeometry& geometry = placement.geometry;
  const double right = double(geometry.x) + geometry.out_width;
  const double bottom = double(geometry.y) + geometry.out_height;
  const Orientation& orientation = placement.orientation;
  const bool mirrored = (orientation.mirror_x != orientation.mirror_y) != orientation.transposed;
  FittedBoxes fitted;
  for (std::size_t i = 0; i + 8 <= corners.size(); i += 8) {
    OrientedBox box;
    for (std::size_t c = 0; c < 8; c += 2) {
      const double x = corners[i + c], y = corners[i + c + 1];
      const Box at = Turned({x, y, x, y}, relative, placement);
      box.xy[c] = (at.left - geometry.left) * geometry.out_width / geometry.width + geometry.x;
      box.xy[c + 1] = (at.top - geometry.top) * geometry.out_height / geometry.height + geometry.y;
    }
    if (mirrored) box.Reverse();
    const SeenBox seen = SeenIn(box, geometry.x, geometry.y, right, bottom);
    if (!(seen.area > 0)) continue;
    for (const double number : seen.box.xy)
      fitted.corners.push_back(static_cast<float>(number));
    fitted.taken.push_back(i / 8);
  }
  return fitted;
}

void FitPoints(std::span<float> points, bool relative, const Placement& placement) {
  const FittedGeometry& geometry = placement.geometry;
  for (std::size_t i = 0; i + 3 <= points.size(); i += 3) {
    // The coordinates of a point that is not labelled are 0, 0 and mean nothing.
    if (points[i + 2] == 0) continue;
    const Box at =
        Turned({points[i], points[i + 1], points[i], points[i + 1]}, relative, placement);
    const double x = (at.left - geometry.left) * geometry.out_width / geometry.width;
    const double y = (at.top - geometry.top) * geometry.out_height / geometry.height;
    // A point outside is marked as not visible, and keeps its place in the list: the number of
    // points is fixed. Written so that a value that is not a number is outside, too.
    if (!(x >= 0 && x <= geometry.out_width && y >= 0 && y <= geometry.out_height)) {
      points[i + 2] = 0;
    }
    points[i] = static_cast<float>(x + geometry.x);
    points[i + 1] = static_cast<float>(y + geometry.y);
  }
}

namespace {

// Cuts off the part of a closed outline that lies before `edge` along an axis (0: x, 1: y) or, with
// `sign` -1, after it.
std::vector<double> CutAt(const std::vector<double>& outline, std::size_t axis, double edge,
                          double sign) {
  std::vector<double> left;
  for (std::size_t i = 0; i < outline.size(); i += 2) {
    const double* const a = &outline[i];
    const double* const b = &outline[(i + 2) % outline.size()];
    const double inside_a = sign * (a[axis] - edge), inside_b = sign * (b[axis] - edge);
    if (inside_a >= 0) left.insert(left.end(), a, a + 2);
    if ((inside_a >= 0) == (inside_b >= 0)) continue;
    const double share = inside_a / (inside_a - inside_b);
    const double along = a[1 - axis] + share * (b[1 - axis] - a[1 - axis]);
    left.push_back(axis == 0 ? edge : along);
    left.push_back(axis == 0 ? along : edge);
  }
  return left;
}

}  // namespace

std::vector<float> FitOutline(std::span<const double> outline, bool relative,
                              const Placement& placement) {
  const FittedGeometry& geometry = placement.geometry;
  std::vector<double> fitted;
  for (std::size_t i = 0; i + 2 <= outline.size(); i += 2) {
    const Box at =
        Turned({outline[i], outline[i + 1], outline[i], outline[i + 1]}, relative, placement);
    fitted.push_back((at.left - geometry.left) * geometry.out_width / geometry.width + geometry.x);
    fitted.push_back((at.top - geometry.top) * geometry.out_height / geometry.height + geometry.y);
  }
  if (geometry.out_width != geometry.target_width ||
      geometry.out_height != geometry.target_height) {
    const double right = double(geometry.x) + geometry.out_width;
    const double bottom = double(geometry.y) + geometry.out_height;
    fitted = CutAt(fitted, 0, geometry.x, 1);
    fitted = CutAt(fitted, 0, right, -1);
    fitted = CutAt(fitted, 1, geometry.y, 1);
    fitted = CutAt(fitted, 1, bottom, -1);
  }
  return {fitted.begin(), fitted.end()};
}

namespace {

// For each of `out` pixels, the index of the source pixel that contains its centre.
std::vector<std::uint32_t> Nearest(double start, double length, std::uint32_t out, bool mirrored,
                                   std::uint32_t size) {
  std::vector<std::uint32_t> nearest(out);
  for (std::uint32_t i = 0; i < out; ++i) {
    const double at = start + (i + 0.5) * length / out;
    const auto pixel = static_cast<std::uint32_t>(
        std::clamp(at, 0.0, static_cast<double>(size) - 1));  // rounds down
    nearest[i] = mirrored ? size - 1 - pixel : pixel;
  }
  return nearest;
}

}  // namespace

MaskPicture FitMask(MaskPicture mask, const Placement& placement, std::uint32_t padding) {
  const FittedGeometry& geometry = placement.geometry;
  const Orientation& orientation = placement.orientation;
  if (geometry.unchanged && orientation.identity()) return mask;
  const bool turned = orientation.transposed;
  // Columns and rows are those of the upright picture. The mirror flags are those of the stored
  // axes that run along them.
  const std::vector<std::uint32_t> columns =
      Nearest(geometry.left, geometry.width, geometry.out_width,
              turned ? orientation.mirror_y : orientation.mirror_x, placement.upright_width());
  const std::vector<std::uint32_t> rows =
      Nearest(geometry.top, geometry.height, geometry.out_height,
              turned ? orientation.mirror_x : orientation.mirror_y, placement.upright_height());
  MaskPicture out;
  out.width = geometry.target_width;
  out.height = geometry.target_height;
  out.channels = mask.channels;
  out.value_bytes = mask.value_bytes;
  const std::size_t pixel = std::size_t{mask.channels} * mask.value_bytes;
  out.pixels.resize(std::size_t{out.width} * out.height * pixel);
  if (padding != 0) FillWith(padding, out);
  for (std::uint32_t y = 0; y < geometry.out_height; ++y) {
    std::uint8_t* to =
        out.pixels.data() + ((std::size_t{y} + geometry.y) * out.width + geometry.x) * pixel;
    for (std::uint32_t x = 0; x < geometry.out_width; ++x, to += pixel) {
      const std::size_t from = turned ? std::size_t{columns[x]} * mask.width + rows[y]
                                      : std::size_t{rows[y]} * mask.width + columns[x];
      std::memcpy(to, mask.pixels.data() + from * pixel, pixel);
    }
  }
  return out;
}

namespace {

// The stored axis, and where its pixels go in a target that has a padding before and after them.
Span PaddedSpan(const Axis& axis, std::uint32_t size, std::uint32_t before,
                std::uint32_t target) noexcept {
  Span span = SpanOf(axis, size);
  span.target = target;
  span.at = axis.mirrored ? target - before - axis.out : before;
  return span;
}

// The bits of a mixed value. If rounding makes it the number for no data, it becomes the next
// number on its own side: a valid value must not turn into none.
std::uint32_t BitsBeside(PixelType type, float value, double no_data) {
  const std::uint32_t bits = BitsOf(type, double{value});
  const float taken = ValueOf(type, bits);
  if (taken != static_cast<float>(no_data)) return bits;
  const bool below = double{value} < no_data;
  if (type == PixelType::kFloat16 || type == PixelType::kFloat32) {
    // Of a sign and a magnitude: the next magnitude is the next number.
    const std::uint32_t sign = type == PixelType::kFloat16 ? 0x8000U : 0x80000000U;
    if ((bits & ~sign) == 0) return (below ? sign : 0) | 1;
    return ((bits & sign) != 0) == below ? bits + 1 : bits - 1;
  }
  const std::uint32_t next = BitsOf(type, double{taken} + (below ? -1 : 1));
  return next != bits ? next : BitsOf(type, double{taken} + (below ? 1 : -1));
}

}  // namespace

ValuePicture FitValues(ValuePicture values, std::optional<double> no_data, bool nearest,
                       const Placement& placement) {
  const auto& [stored_width, stored_height, orientation, geometry] = placement;
  if (nearest || geometry.unchanged) {
    static_cast<MaskPicture&>(values) =
        FitMask(std::move(values), placement, no_data ? BitsOf(values.type, *no_data) : 0);
    return values;
  }
  const StoredPart part = StoredPartOf(stored_width, stored_height, orientation, geometry);
  const bool turned = orientation.transposed;
  Region region;
  region.x = PaddedSpan(part.x, stored_width, turned ? geometry.y : geometry.x,
                        turned ? geometry.target_height : geometry.target_width);
  region.y = PaddedSpan(part.y, stored_height, turned ? geometry.x : geometry.y,
                        turned ? geometry.target_width : geometry.target_height);
  region.flip = part.x.mirrored;
  region.flip_y = part.y.mirrored;
  region.transpose = turned;
  ValuePicture out =
      NewValues(region.width(), region.height(), values.channels, values.type, kMaxImagePixels);
  WideDecoder decoder(kernels::Chosen());
  std::vector<std::uint32_t> channels(values.channels);
  std::iota(channels.begin(), channels.end(), 0U);
  Defect defect =
      decoder.Open({Codec::kRaw, values.type, static_cast<std::uint8_t>(values.channels),
                    values.width, values.height, std::as_bytes(std::span(values.pixels))});
  if (defect == nullptr) {
    defect = decoder.MakePlanes(
        region, channels, no_data, [&](std::size_t channel, std::vector<float>& plane) {
          std::uint8_t* to = out.pixels.data() + channel * out.value_bytes;
          for (const float value : plane) {
            const std::uint32_t bits = !no_data            ? BitsOf(out.type, double{value})
                                       : std::isnan(value) ? BitsOf(out.type, *no_data)
                                                           : BitsBeside(out.type, value, *no_data);
            std::memcpy(to, &bits, out.value_bytes);  // little-endian
            to += std::size_t{out.channels} * out.value_bytes;
          }
        });
  }
  if (defect != nullptr) throw Error(ErrorCode::kCorrupt, defect);
  return out;
}

}  // namespace sluice
