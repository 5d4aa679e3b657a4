// From a JPEG file to the pixels that are stored, by the way that costs the least.
//
// Pictures in Y Cb Cr or grey are resized plane by plane, each from its own resolution, and get
// their colours at the size that is stored; what a transform at a reduced size can do, it does.
// What is taken pixel for pixel stays exactly what libjpeg gives.
#pragma once

#include "format/pixels/decode.h"
#include "format/pixels/resample.h"
#include "writer/fit/geometry.h"
#include "writer/source/jpeg_source.h"

namespace sluice {

// Keeps its buffers from picture to picture, but for the largest. One thread at a time.
class JpegFitter {
 public:
  // `file` are the bytes that `source` was made from, `geometry` is in the orientation to be seen.
  // Grey files give grey. Throws what JpegSource::Decode() does, for damage anywhere in the
  // picture, also outside of what the geometry takes. Ends what `source` can be used for.
  Picture Fit(JpegSource& source, Bytes file, const ColorRules& rules,
              const FittedGeometry& geometry);

 private:
  bool FitPlanes(const JpegSource& source, Bytes file, std::uint32_t channels,
                 const FittedGeometry& geometry, Picture& picture);

  PayloadDecoder decoder_{kPolicy};
  Resampler resampler_;

  static constexpr DecodePolicy kPolicy{.samples_per_pixel = 3, .whole_file = true};
};

}  // namespace sluice
