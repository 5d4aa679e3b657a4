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

Picture FitPicture(Picture picture, std::uint32_t reduction, std::uint32_t stored_width,
                   std::uint32_t stored_height, Orientation orientation,
                   const FittedGeometry& geometry, Resampler& resampler) {
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

}  // namespace sluice
