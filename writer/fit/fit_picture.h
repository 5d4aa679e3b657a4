// From a source picture to the stored pixels.
#pragma once

#include "format/pixels/decode.h"
#include "format/pixels/resample.h"
#include "writer/fit/geometry.h"
#include "writer/source/images/jpeg.h"
#include "writer/source/images/orientation.h"
#include "writer/source/images/pixel_source.h"

namespace sluice {

// `picture` was decoded at 1/reduction of the placement's stored size.
Picture FitPicture(Picture picture, std::uint32_t reduction, const Placement& placement,
                   Resampler& resampler);

// From decoded pixels to stored pixels: turned upright, cut, resampled and padded.
//
// The part of a stored picture that a geometry takes, along the stored axes and in full-size
// pixels, and the number of pixels it becomes along them.
struct StoredPart {
  Axis x, y;
};
StoredPart StoredPartOf(std::uint32_t stored_width, std::uint32_t stored_height,
                        Orientation orientation, const FittedGeometry& geometry);

// The last steps. `picture` is the resampled StoredPart, mirrored as the part says.
Picture TurnAndPad(Picture picture, Orientation orientation, const FittedGeometry& geometry);

// Repeats each grey value three times.
Picture GreyToRgb(const Picture& grey);

// From a JPEG file to the stored pixels, the cheapest way.
//
// Pictures in Y Cb Cr or grey are resized plane by plane, each from its own resolution. Where they
// are stored with halved chroma, the planes go to the encoder as they are; otherwise they are
// converted to RGB, at the stored size. Transforms at a reduced size do as much of the work as they
// can. RGB pixels that are taken one to one stay exactly as libjpeg decodes them.
//
// Keeps its buffers from picture to picture, except the largest. One thread at a time.
class JpegFitter {
 public:
  // `file` holds the bytes that `source` was made from; `geometry` is in the upright orientation.
  // Grey files give grey. With `ycc420` the picture may have that form. Throws what
  // JpegSource::Decode() throws, for damage anywhere in the picture, including outside the part
  // that the geometry takes. `source` cannot be used afterwards.
  Picture Fit(JpegSource& source, Bytes file, const ColorRules& rules,
              const FittedGeometry& geometry, bool ycc420);

 private:
  bool FitPlanes(const JpegSource& source, Bytes file, const FittedGeometry& geometry,
                 Picture& picture);

  PayloadDecoder decoder_{kPolicy};
  Resampler resampler_;

  static constexpr DecodePolicy kPolicy{.samples_per_pixel = 3, .whole_file = true};
};

}  // namespace sluice
