#include "writer/source/png_source.h"

#include <algorithm>

#include <spng.h>

namespace sluice {

namespace {

// Converts one decoded row, in the format that spng gave, to the picture's channels.
void StoreRow(const void* in, int format, const ColorRules& rules, const Picture& picture,
              std::uint8_t* out) {
  const auto* values = static_cast<const std::uint8_t*>(in);
  switch (format) {
    case SPNG_FMT_RGBA16:
      return StoreRgbaRow(static_cast<const std::uint16_t*>(in), picture.width, picture.channels,
                          rules, out);
    case SPNG_FMT_RGBA8: return StoreRgbaRow(values, picture.width, picture.channels, rules, out);
    case SPNG_FMT_RGB8: return StoreRgbRow(values, picture.width, picture.channels, rules, out);
    default: return StoreGreyRow(values, picture.width, rules, out);
  }
}

// Whether decoded rows have the picture's own form, so that spng can decode straight into it.
bool FitsInPlace(int format, std::uint32_t channels) noexcept {
  return format == SPNG_FMT_G8 || (format == SPNG_FMT_RGB8 && channels == 3);
}

}  // namespace

PngSource::PngSource(Bytes file, bool with_profile) : png_(file, "broken PNG", with_profile) {
  has_profile_ = png_.has_profile();
  const spng_ihdr header = png_.Header();
  width_ = header.width;
  height_ = header.height;
  bit_depth_ = header.bit_depth;
  deep_ = bit_depth_ > 8;
  color_type_ = header.color_type;
  interlaced_ = header.interlace_method != SPNG_INTERLACE_NONE;
  grey_ =
      color_type_ == SPNG_COLOR_TYPE_GRAYSCALE || color_type_ == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
}

Bytes PngSource::Profile() {
  spng_iccp profile{};
  if (spng_get_iccp(png_.get(), &profile) != SPNG_OK) return {};
  return {reinterpret_cast<const std::byte*>(profile.profile), profile.profile_len};
}

PngSource::RowFormat PngSource::FormatFor(bool opaque) const {
  if (bit_depth_ == 16) return {SPNG_FMT_RGBA16, 8};
  if (!opaque) return {SPNG_FMT_RGBA8, 4};
  return grey_ ? RowFormat{SPNG_FMT_G8, 1} : RowFormat{SPNG_FMT_RGB8, 3};
}

Picture PngSource::Decode(const ColorRules& rules) {
  spng_trns transparency{};
  const bool opaque = color_type_ != SPNG_COLOR_TYPE_GRAYSCALE_ALPHA &&
                      color_type_ != SPNG_COLOR_TYPE_TRUECOLOR_ALPHA &&
                      spng_get_trns(png_.get(), &transparency) == SPNG_ECHUNKAVAIL;
  Picture picture = MakePicture(PictureChannels(grey_, opaque, rules));
  FindOrientation();  // of Exif before the pixels; below, after them
  if (interlaced_) {
    DecodeInterlaced(FormatFor(opaque), rules, picture);
  } else {
    DecodeRows(FormatFor(opaque), rules, picture);
  }
  // Reads the chunks after the image data: checksums, and perhaps the orientation.
  if (cut_short().empty() && !Ended(spng_decode_chunks(png_.get()))) FindOrientation();
  return picture;
}

bool PngSource::Ended(int result) {
  if (result != SPNG_IO_EOF) {
    png_.Check(result);
    return false;
  }
  EndsEarly("broken PNG", spng_strerror(result));
  return true;
}

void PngSource::DecodeRows(RowFormat format, const ColorRules& rules, Picture& picture) {
  bool ended = Ended(spng_decode_image(png_.get(), nullptr, 0, format.format,
                                       SPNG_DECODE_TRNS | SPNG_DECODE_PROGRESSIVE));
  const std::size_t row_bytes = std::size_t{width_} * format.pixel_bytes;
  const std::size_t stride = std::size_t{width_} * picture.channels;
  const bool in_place = FitsInPlace(format.format, picture.channels);
  std::vector<std::byte> row(in_place ? 0 : row_bytes);
  for (std::uint32_t y = 0; y < height_; ++y) {
    std::uint8_t* const out = picture.pixels.data() + y * stride;
    void* const target = in_place ? static_cast<void*>(out) : row.data();
    if (!ended) {
      const int result = spng_decode_row(png_.get(), target, row_bytes);
      ended = (result != SPNG_EOI || y + 1 != height_) && Ended(result);
      if (ended) std::fill(row.begin(), row.end(), std::byte{0});
    }
    StoreRow(target, format.format, rules, picture, out);
  }
}

// An interlaced image's passes come in an order that needs the whole image at once.
void PngSource::DecodeInterlaced(RowFormat format, const ColorRules& rules, Picture& picture) {
  const std::size_t row_bytes = std::size_t{width_} * format.pixel_bytes;
  const std::size_t stride = std::size_t{width_} * picture.channels;
  const bool in_place = FitsInPlace(format.format, picture.channels);
  std::vector<std::byte> all(in_place ? 0 : row_bytes * height_);
  void* const target = in_place ? static_cast<void*>(picture.pixels.data()) : all.data();
  Ended(
      spng_decode_image(png_.get(), target, row_bytes * height_, format.format, SPNG_DECODE_TRNS));
  for (std::uint32_t y = 0; y < height_; ++y) {
    StoreRow(static_cast<const std::byte*>(target) + y * row_bytes, format.format, rules, picture,
             picture.pixels.data() + y * stride);
  }
}

void PngSource::FindOrientation() {
  spng_exif exif{};
  if (spng_get_exif(png_.get(), &exif) != SPNG_OK) exif = {};
  if (!xmp_) xmp_ = png_.Xmp();
  orientation_ = ReadOrientation(std::as_bytes(std::span(exif.data, exif.length)), AsBytes(*xmp_));
}

}  // namespace sluice
