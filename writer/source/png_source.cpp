#include "writer/source/png_source.h"

#include <algorithm>

#include <spng.h>

#include <sluice/error.h>

#include "format/pixels/grey.h"

namespace sluice {

namespace {

// A colour value laid over white by its opacity, both out of `full`, rounded to 8 bits.
template <class Value>
std::uint8_t OverWhite(Value value, Value opacity) noexcept {
  constexpr std::uint64_t full = static_cast<Value>(-1);
  const std::uint64_t sum = std::uint64_t{value} * opacity + full * (full - opacity);
  return static_cast<std::uint8_t>((sum * 255 + full * full / 2) / (full * full));
}

// A row of four values a pixel, RGB and opacity, to the picture's channels.
template <class Value>
void FlattenRow(const Value* in, std::uint32_t width, std::uint32_t channels, std::uint8_t* out) {
  for (std::uint32_t x = 0; x < width; ++x, in += 4, out += channels) {
    const std::uint8_t rgb[3] = {OverWhite(in[0], in[3]), OverWhite(in[1], in[3]),
                                 OverWhite(in[2], in[3])};
    if (channels == 1) {
      *out = GreyOf(rgb);
    } else {
      std::copy_n(rgb, 3, out);
    }
  }
}

// One decoded row, in the format spng gave, to the picture's channels.
void ConvertRow(const std::byte* in, int format, std::uint32_t width, std::uint32_t channels,
                std::uint8_t* out) {
  const auto* values = reinterpret_cast<const std::uint8_t*>(in);
  switch (format) {
    case SPNG_FMT_RGBA16:
      return FlattenRow(reinterpret_cast<const std::uint16_t*>(in), width, channels, out);
    case SPNG_FMT_RGBA8: return FlattenRow(values, width, channels, out);
    case SPNG_FMT_RGB8:
      for (std::uint32_t x = 0; x < width; ++x)
        out[x] = GreyOf(values + std::size_t{x} * 3);
      return;
    default: return;  // what needs no conversion is decoded in place
  }
}

bool NeedsConversion(int format, std::uint32_t channels) noexcept {
  return format == SPNG_FMT_RGBA16 || format == SPNG_FMT_RGBA8 ||
         (format == SPNG_FMT_RGB8 && channels == 1);
}

}  // namespace

PngSource::PngSource(Bytes file) : png_(file, "broken PNG") {
  const spng_ihdr header = png_.Header();
  width_ = header.width;
  height_ = header.height;
  bit_depth_ = header.bit_depth;
  color_type_ = header.color_type;
  interlaced_ = header.interlace_method != SPNG_INTERLACE_NONE;
}

Picture PngSource::Decode(std::uint32_t channels) {
  spng_trns transparency{};
  const bool grey =
      color_type_ == SPNG_COLOR_TYPE_GRAYSCALE || color_type_ == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
  const bool opaque = color_type_ != SPNG_COLOR_TYPE_GRAYSCALE_ALPHA &&
                      color_type_ != SPNG_COLOR_TYPE_TRUECOLOR_ALPHA &&
                      spng_get_trns(png_.get(), &transparency) == SPNG_ECHUNKAVAIL;
  int format = SPNG_FMT_RGBA8;
  std::uint32_t value_bytes = 4;  // of a pixel
  if (bit_depth_ == 16) {
    format = SPNG_FMT_RGBA16;
    value_bytes = 8;
  } else if (opaque) {
    format = grey ? SPNG_FMT_G8 : SPNG_FMT_RGB8;
    value_bytes = grey ? 1 : 3;
  }
  Picture picture;
  picture.width = width_;
  picture.height = height_;
  picture.channels = grey ? 1 : channels;
  picture.pixels.resize(std::size_t{width_} * height_ * picture.channels);
  if (interlaced_) {
    DecodeInterlaced(format, value_bytes, picture);
  } else {
    DecodeRows(format, value_bytes, picture);
  }
  ReadTrailer();
  return picture;
}

void PngSource::DecodeRows(int format, std::uint32_t value_bytes, Picture& picture) {
  png_.Check(spng_decode_image(png_.get(), nullptr, 0, format,
                               SPNG_DECODE_TRNS | SPNG_DECODE_PROGRESSIVE));
  const std::size_t row_bytes = std::size_t{width_} * value_bytes;
  const std::size_t stride = std::size_t{width_} * picture.channels;
  const bool convert = NeedsConversion(format, picture.channels);
  std::vector<std::byte> row(convert ? row_bytes : 0);
  for (std::uint32_t y = 0; y < height_; ++y) {
    std::uint8_t* const out = picture.pixels.data() + y * stride;
    void* const target = convert ? static_cast<void*>(row.data()) : out;
    const int result = spng_decode_row(png_.get(), target, row_bytes);
    if (result != SPNG_EOI || y + 1 != height_) png_.Check(result);
    if (convert) ConvertRow(row.data(), format, width_, picture.channels, out);
  }
}

// The passes of an interlaced image come in an order that needs all of it at once.
void PngSource::DecodeInterlaced(int format, std::uint32_t value_bytes, Picture& picture) {
  const std::size_t row_bytes = std::size_t{width_} * value_bytes;
  if (!NeedsConversion(format, picture.channels)) {
    png_.Check(spng_decode_image(png_.get(), picture.pixels.data(), picture.pixels.size(), format,
                                 SPNG_DECODE_TRNS));
    return;
  }
  std::vector<std::byte> all(row_bytes * height_);
  png_.Check(spng_decode_image(png_.get(), all.data(), all.size(), format, SPNG_DECODE_TRNS));
  for (std::uint32_t y = 0; y < height_; ++y) {
    ConvertRow(all.data() + y * row_bytes, format, width_, picture.channels,
               picture.pixels.data() + std::size_t{y} * width_ * picture.channels);
  }
}

// What stands behind the image data: their checksums, and perhaps the orientation.
void PngSource::ReadTrailer() {
  png_.Check(spng_decode_chunks(png_.get()));
  spng_exif exif{};
  if (spng_get_exif(png_.get(), &exif) == SPNG_OK) {
    orientation_ =
        OrientationOf(ReadExifOrientation(std::as_bytes(std::span(exif.data, exif.length))));
  }
}

}  // namespace sluice
