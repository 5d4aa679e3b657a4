// The pictures of a preview: thumbnails, with annotations drawn on them, and sheets of thumbnails.
#pragma once

#include <string>

#include <sluice/dataset.h>
#include <sluice/image.h>

namespace sluice {

// The image in RGB of 8 bits, fitted into side x side pixels without changing its shape: each pixel
// is the mean of those that it covers. Small ones are enlarged by a whole factor, pixel by pixel.
// Opacity is left out.
Image Thumbnail(const Image& image, std::uint32_t side);

// Pictures in RGB in a grid of `columns`, each in the middle of a cell of side x side with a margin
// around it. Empty ones leave their cell dark.
Image ContactSheet(const std::vector<Image>& pictures, std::uint32_t columns, std::uint32_t side);

// A picture in RGB as a JPEG file, in text that may stand in a page (RFC 4648).
std::string JpegInBase64(const Image& picture);

// The image field that a preview shows: as in a loader, the first that follows no other.
const Field& ShownImage(const Schema& schema);

// Draws the sample's masks, boxes and key points that follow `image` (or name no image) as a loader
// takes them: float32 or float64 numbers, in the coordinates that FORMAT.md registers; others are
// left out. Class 0 of a mask stays clear, the others are tinted. A box has the colour of its class
// if a label field follows the same image and has as many entries. At most 1000 boxes or points of
// each field are drawn.
//
// `width`, `height`: of the image in pixels; `thumbnail`: in RGB. Throws Error if a value is
// damaged.
void DrawAnnotations(const Sample& sample, const Schema& schema, const Field& image,
                     std::uint32_t width, std::uint32_t height, Image& thumbnail);

}  // namespace sluice
