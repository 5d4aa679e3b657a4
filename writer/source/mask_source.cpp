#include "writer/source/mask_source.h"

#include <algorithm>
#include <memory>

#include <spng.h>

#include <sluice/error.h>

namespace sluice {

namespace {

constexpr std::size_t kMaxChunkBytes = 8 << 20;
constexpr std::size_t kMaxChunksBytes = 32 << 20;

void Check(int result) {
  if (result == SPNG_OK) return;
  throw Error(ErrorCode::kCorrupt,
              std::string("its mask is a broken PNG: ") + spng_strerror(result));
}

std::uint32_t ChannelsOf(std::uint8_t color_type) noexcept {
  switch (color_type) {
    case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA: return 2;
    case SPNG_COLOR_TYPE_TRUECOLOR: return 3;
    case SPNG_COLOR_TYPE_TRUECOLOR_ALPHA: return 4;
    default: return 1;
  }
}

// Values of fewer than eight bits, the first in the highest bits, to one a byte; in place, from the
// end of the row.
void Unpack(std::uint8_t* row, std::uint32_t width, unsigned bits) noexcept {
  for (std::uint32_t x = width; x-- > 0;) {
    const std::uint64_t bit = std::uint64_t{x} * bits;
    const unsigned shift = 8 - bits - static_cast<unsigned>(bit % 8);
    row[x] = static_cast<std::uint8_t>((row[bit / 8] >> shift) & ((1U << bits) - 1));
  }
}

}  // namespace

MaskPicture DecodeMask(Bytes file, std::uint64_t max_pixels) {
  const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context(spng_ctx_new(0), &spng_ctx_free);
  if (!context) throw std::bad_alloc();
  Check(spng_set_crc_action(context.get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR));
  Check(spng_set_chunk_limits(context.get(), kMaxChunkBytes, kMaxChunksBytes));
  Check(spng_set_png_buffer(context.get(), file.data(), file.size()));
  spng_ihdr header{};
  Check(spng_get_ihdr(context.get(), &header));
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
  Check(spng_decoded_image_size(context.get(), SPNG_FMT_PNG, &size));
  mask.pixels.resize(std::size_t{mask.width} * mask.height * mask.channels * mask.value_bytes);
  const std::size_t packed = size / mask.height;  // of a row
  std::vector<std::uint8_t> image(size);
  Check(spng_decode_image(context.get(), image.data(), image.size(), SPNG_FMT_PNG, 0));
  Check(spng_decode_chunks(context.get()));
  if (header.bit_depth >= 8) {
    mask.pixels = std::move(image);
    return mask;
  }
  for (std::uint32_t y = 0; y < mask.height; ++y) {
    std::uint8_t* const row = mask.pixels.data() + std::size_t{y} * mask.width;
    std::copy_n(image.data() + y * packed, packed, row);
    Unpack(row, mask.width, header.bit_depth);
  }
  return mask;
}

}  // namespace sluice
