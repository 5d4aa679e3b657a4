#include "writer/source/jpeg_source.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/pixels/grey.h"

namespace sluice {

namespace {

constexpr std::string_view kExifMarker("Exif\0\0", 6);

// Inks to light. Programs of Adobe's store inks inverted, and say that they wrote the file by a
// marker; nearly every CMYK JPEG is of theirs.
void CmykToRgb(const std::uint8_t* in, std::uint32_t width, bool inverted, std::uint8_t* out) {
  const unsigned flip = inverted ? 0 : 255;
  for (std::uint32_t x = 0; x < width; ++x, in += 4, out += 3) {
    for (int c = 0; c < 3; ++c) {
      const unsigned product = (in[c] ^ flip) * (in[3] ^ flip);
      out[c] = static_cast<std::uint8_t>((product + 127) / 255);
    }
  }
}

void RgbToGrey(std::uint8_t* row, std::uint32_t width) {
  for (std::uint32_t x = 0; x < width; ++x)
    row[x] = GreyOf(row + std::size_t{x} * 3);
}

bool IsCmyk(const jpeg_decompress_struct& object) noexcept {
  return object.jpeg_color_space == JCS_CMYK || object.jpeg_color_space == JCS_YCCK;
}

}  // namespace

JpegSource::JpegSource(Bytes file) {
  ReadHeader(file);
  for (auto* marker = jpeg_.object.marker_list; marker != nullptr; marker = marker->next) {
    const Bytes data(reinterpret_cast<const std::byte*>(marker->data), marker->data_length);
    if (marker->marker == JPEG_APP0 + 1 && AsText(data).starts_with(kExifMarker)) {
      orientation_ = OrientationOf(ReadExifOrientation(data));
      break;
    }
  }
}

void JpegSource::ReadHeader(Bytes file) {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  jpeg_save_markers(&jpeg_.object, JPEG_APP0 + 1, 0xFFFF);
  jpeg_mem_src(&jpeg_.object, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&jpeg_.object, TRUE);
}

void JpegSource::Start(std::uint32_t channels, std::uint32_t reduction) {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  jpeg_decompress_struct& object = jpeg_.object;
  object.scale_num = 8 / reduction;
  object.scale_denom = 8;
  object.dct_method = JDCT_ISLOW;
  if (IsCmyk(object)) {
    object.out_color_space = JCS_CMYK;
  } else if (channels == 1 || object.jpeg_color_space == JCS_GRAYSCALE) {
    object.out_color_space = JCS_GRAYSCALE;
  } else {
    object.out_color_space = JCS_RGB;
  }
  jpeg_start_decompress(&object);
}

// A file of several scans may end, properly, before one of its components has come.
void JpegSource::CheckComponents() const {
  for (int c = 0; c < jpeg_.object.num_components; ++c) {
    if (jpeg_.object.comp_info[c].quant_table == nullptr) {
      throw Error(ErrorCode::kCorrupt, "broken JPEG: one of its colour components is missing");
    }
  }
}

void JpegSource::ReadRows(Picture& picture, std::uint8_t* cmyk_row) {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  jpeg_decompress_struct& object = jpeg_.object;
  const std::size_t stride = std::size_t{picture.width} * picture.channels;
  while (object.output_scanline < object.output_height) {
    std::uint8_t* const out = picture.pixels.data() + object.output_scanline * stride;
    JSAMPROW target = cmyk_row != nullptr ? cmyk_row : out;
    jpeg_read_scanlines(&object, &target, 1);
    if (cmyk_row == nullptr) continue;
    // Grey is made in place at the row's beginning of the CMYK buffer.
    std::uint8_t* const rgb = picture.channels == 3 ? out : cmyk_row;
    CmykToRgb(cmyk_row, picture.width, object.saw_Adobe_marker != 0, rgb);
    if (picture.channels == 3) continue;
    RgbToGrey(rgb, picture.width);
    std::copy_n(rgb, picture.width, out);
  }
}

Picture JpegSource::Decode(std::uint32_t channels, std::uint32_t reduction) {
  Start(channels, reduction);
  Picture picture;
  picture.width = jpeg_.object.output_width;
  picture.height = jpeg_.object.output_height;
  const bool cmyk = IsCmyk(jpeg_.object);
  picture.channels = cmyk ? channels : static_cast<std::uint32_t>(jpeg_.object.output_components);
  picture.pixels.resize(std::size_t{picture.width} * picture.height * picture.channels);
  std::vector<std::uint8_t> cmyk_row(cmyk ? std::size_t{picture.width} * 4 : 0);
  ReadRows(picture, cmyk ? cmyk_row.data() : nullptr);
  CheckComponents();
  return picture;
}

jvirt_barray_ptr* JpegSource::ReadCoefficients() {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  return jpeg_read_coefficients(&jpeg_.object);
}

}  // namespace sluice
