// Makes the dataset's picture from the source's: which part becomes which size (FitGeometry), the
// pixels (FitPicture, JpegFitter), and the boxes, key points and masks that belong to the picture
// (Placement).
//
// All sizes are those of the upright picture, after its orientation is applied. A scaled side is
// rounded to the nearest whole number of pixels, half up, and is at least 1. `size` with `crop`
// takes the largest centred rectangle of the target's shape, whose edges may lie between pixels.
// With `pad`, the odd pixel of a margin goes to the right or the bottom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sluice/convert.h>

#include "format/pixels/decode.h"
#include "format/pixels/resample.h"
#include "writer/source/images/jpeg.h"
#include "writer/source/images/orientation.h"
#include "writer/source/images/pixel_source.h"
#include "writer/source/images/png.h"
#include "writer/source/images/values.h"

namespace sluice {

struct FittedGeometry {
  double left = 0, top = 0, width = 0, height = 0;    // the part taken, in pixels of the source
  std::uint32_t out_width = 0, out_height = 0;        // the size that the part is resampled to
  std::uint32_t x = 0, y = 0;                         // where the resampled part goes in the target
  std::uint32_t target_width = 0, target_height = 0;  // the size of the dataset's picture
  bool unchanged = false;                             // nothing is resampled, cut off or added
};

// `width` and `height` are at least 1.
FittedGeometry FitGeometry(std::uint32_t width, std::uint32_t height,
                           const ConvertOptions& options);

// Whether the picture is smaller than `options.geometry.short_side`, or must be enlarged for
// `options.geometry.size`. For max_side no picture is too small.
bool IsSmallerThanTarget(const FittedGeometry& geometry, const ConvertOptions& options) noexcept;

// Whether the part that is taken of the picture gets fewer pixels than it has.
inline bool IsShrunk(const FittedGeometry& geometry) noexcept {
  return geometry.out_width < geometry.width || geometry.out_height < geometry.height;
}

// The largest of 1, 2, 4, 8 by which the source may be reduced while it is decoded. The reduced
// picture is at least twice as large as the target on both axes, so that the filter of the
// resampling decides the result.
std::uint32_t DecodeReduction(const FittedGeometry& geometry) noexcept;

// Maps pixels of a picture's file, as its rows are stored, to pixels of the dataset's picture.
struct Placement {
  std::uint32_t stored_width = 0;  // size of the file's picture, as its rows are stored
  std::uint32_t stored_height = 0;
  Orientation orientation;
  FittedGeometry geometry;  // of the upright picture

  std::uint32_t upright_width() const noexcept {
    return orientation.transposed ? stored_height : stored_width;
  }
  std::uint32_t upright_height() const noexcept {
    return orientation.transposed ? stored_width : stored_height;
  }
  // The placement for annotations that were drawn on the upright picture.
  Placement Upright() const noexcept {
    return {upright_width(), upright_height(), Orientation{}, geometry};
  }
};

// Turns a decoded picture upright, cuts, resamples and pads it. `picture` was decoded at
// 1/reduction of the placement's stored size.
Picture FitPicture(Picture picture, std::uint32_t reduction, const Placement& placement,
                   Resampler& resampler);

// The part that a geometry takes of a file's picture, before the picture is turned upright: along
// the axes of the file's rows and columns, in full-size pixels; and the number of pixels that the
// part gets on each axis.
struct StoredPart {
  Axis x, y;
};
StoredPart StoredPartOf(std::uint32_t stored_width, std::uint32_t stored_height,
                        Orientation orientation, const FittedGeometry& geometry);

// The last steps: transposes and pads. `picture` is the resampled StoredPart, mirrored as the part
// says.
Picture TurnAndPad(Picture picture, Orientation orientation, const FittedGeometry& geometry);

// Repeats each grey value three times.
Picture GreyToRgb(const Picture& grey);

// Makes the stored picture from a JPEG file in the cheapest way.
//
// Pictures in Y Cb Cr or grey are resized plane by plane, each from its own resolution. If the
// result is stored with halved chroma, the planes go to the encoder as they are; otherwise they are
// converted to RGB at the stored size. Inverse transforms at a reduced size do as much of the
// resizing as they can. RGB pixels that are taken one to one stay exactly as libjpeg decodes them.
//
// Keeps its buffers from picture to picture, except after very large ones. One thread at a time.
class JpegFitter {
 public:
  // `file` holds the bytes that `source` was made from; `geometry` is in the upright orientation.
  // Grey files give grey. With `ycc420` the result may be in that form (Picture::ycc420). Throws
  // what JpegSource::Decode() throws, for damage anywhere in the picture, including outside the
  // part that the geometry takes. `source` cannot be used afterwards.
  Picture Fit(JpegSource& source, Bytes file, const ColorRules& rules,
              const FittedGeometry& geometry, bool ycc420);

 private:
  bool FitPlanes(const JpegSource& source, Bytes file, const FittedGeometry& geometry,
                 Picture& picture);

  PayloadDecoder decoder_{kPolicy};
  Resampler resampler_;

  static constexpr DecodePolicy kPolicy{.samples_per_pixel = 3, .whole_file = true};
};

struct FittedBoxes {
  std::vector<float> corners;      // of each box, in pixels of the dataset's picture
  std::vector<std::size_t> taken;  // indices of the source's boxes that were kept
};

// `corners`: in pixels of the placement's file, or with `relative` in fractions of its width and
// height. Boxes with no area left are dropped. If an image is padded, boxes are clipped to the
// image without its padding.
FittedBoxes FitBoxes(std::span<const double> corners, bool relative, const Placement& placement);
// The same for oriented boxes: four corners each, x and y. They go around in the same direction
// afterwards, and keep their angle where they are cut.
FittedBoxes FitOrientedBoxes(std::span<const double> corners, bool relative,
                             const Placement& placement);

// `points`: x, y, visibility of each point, changed in place. With `relative`, x and y are
// fractions of the placement's width and height. A point outside of the part that is taken gets
// visibility 0. A point that already has visibility 0 has no position, and keeps its numbers.
void FitPoints(std::span<float> points, bool relative, const Placement& placement);

// The corners x, y, x, y, ... of a closed outline, in pixels of the dataset's picture. If an image
// is padded, what lies in the padding is cut off; otherwise an outline may reach beyond the
// picture.
std::vector<float> FitOutline(std::span<const double> outline, bool relative,
                              const Placement& placement);

// `mask` has the size of the placement's file. Values in the padding of the image have the bits
// `padding`.
MaskPicture FitMask(MaskPicture mask, const Placement& placement, std::uint32_t padding = 0);

// The same for values, which are mixed if the image is resized, unless `nearest`. `no_data` is
// never mixed, and fills the padding, which is 0 without it. A mixed value that rounds to it
// becomes the number next to it.
ValuePicture FitValues(ValuePicture values, std::optional<double> no_data, bool nearest,
                       const Placement& placement);

}  // namespace sluice
