// Pictures made small enough for an overview.
#pragma once

#include <string>

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

}  // namespace sluice
