#include "writer/source/mask_source.h"

#include <algorithm>

#include <spng.h>

#include <sluice/error.h>

#include "writer/source/png_file.h"

namespace sluice {

namespace {

std::uint32_t ChannelsOf(std::uint8_t color_type) noexcept {
  switch (color_type) {
    case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA: return 2;
    case SPNG_COLOR_TYPE_TRUECOLOR: return 3;
    case SPNG_COLOR_TYPE_TRUECOLOR_ALPHA: return 4;
    default: return 1;
  }
}

// Unpacks values of fewer than eight bits, the first in the highest bits, to one a byte: in place,
// from the end of the row.
void Unpack(std::uint8_t* row, std::uint32_t width, unsigned bits) noexcept {
  for (std::uint32_t x = width; x-- > 0;) {
    const std::uint64_t bit = std::uint64_t{x} * bits;
    const unsigned shift = 8 - bits - static_cast<unsigned>(bit % 8);
    row[x] = static_cast<std::uint8_t>((row[bit / 8] >> shift) & ((1U << bits) - 1));
  }
}

}  // namespace

MaskPicture DecodeMask(Bytes file, std::uint64_t max_pixels) {
  const PngFile png(file, "its mask is a broken PNG");
  const spng_ihdr header = png.Header();
  if (std::uint64_t{header.width} * header.height > max_pixels) {
    throw Error(ErrorCode::kLimit, "its mask has " + std::to_string(header.width) + "x" +
                                       std::to_string(header.height) + " pixels, more than the " +
                                       std::to_string(max_pixels) + " of max_pixels");
  }
  MaskPicture mask;
  mask.width = header.width;
  mask.height = header.height;
  mask.channels = ChannelsOf(header.color_type);
  mask.value_bytes = header.bit_depth == 16 ? 2 : 1;
  std::size_t size = 0;
  png.Check(spng_decoded_image_size(png.get(), SPNG_FMT_PNG, &size));
  const std::size_t packed = size / mask.height;  // of a row
  std::vector<std::uint8_t> image(size);
  png.Check(spng_decode_image(png.get(), image.data(), image.size(), SPNG_FMT_PNG, 0));
  png.Check(spng_decode_chunks(png.get()));
  if (header.bit_depth >= 8) {
    mask.pixels = std::move(image);
    return mask;
  }
  mask.pixels.resize(std::size_t{mask.width} * mask.height * mask.channels * mask.value_bytes);
  for (std::uint32_t y = 0; y < mask.height; ++y) {
    std::uint8_t* const row = mask.pixels.data() + std::size_t{y} * mask.width;
    std::copy_n(image.data() + y * packed, packed, row);
    Unpack(row, mask.width, header.bit_depth);
  }
  return mask;
}

}  // namespace sluice
