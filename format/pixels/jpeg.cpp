#include "format/pixels/jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>

#include "format/disk/limits.h"
#include "format/pixels/decode.h"
#include "format/pixels/grey.h"
#include "format/pixels/libjpeg.h"

namespace sluice {

namespace {

// Converts CMYK to RGB in place: inverted, as Adobe's programs write it (a marker says so), or
// plain.
void CmykToRgb(std::uint8_t* row, std::uint32_t width, bool inverted) {
  std::uint8_t* out = row;
  for (std::uint32_t x = 0; x < width; ++x, row += 4, out += 3) {
    const unsigned k = inverted ? row[3] : 255U - row[3];
    for (int c = 0; c < 3; ++c) {
      const unsigned ink = inverted ? row[c] : 255U - row[c];
      out[c] = static_cast<std::uint8_t>((ink * k + 127) / 255);
    }
  }
}

void RgbToGrey(std::uint8_t* row, std::uint32_t width) {
  const std::uint8_t* in = row;
  for (std::uint32_t x = 0; x < width; ++x, in += 3)
    row[x] = GreyOf(in);
}

}  // namespace

struct JpegDecoder::State {
  libjpeg::Decompressor jpeg;
  std::vector<std::uint8_t> rows;

  void Prepare(Bytes file, const JpegWindow& window);
  // False if one of the components is missing.
  bool DecodeRows(const JpegWindow& window, JpegPart& part);
};

// Reads the header and sets the output's parameters. Leaves by longjmp on an error: no objects with
// destructors here.
void JpegDecoder::State::Prepare(Bytes file, const JpegWindow& window) {
  jpeg_decompress_struct& object = jpeg.object;
  jpeg.Renew();
  libjpeg::ReadHeader(object, file);
  object.scale_num = 8 / window.reduction;
  object.scale_denom = 8;
  object.dct_method = JDCT_ISLOW;
  const bool cmyk = object.jpeg_color_space == JCS_CMYK || object.jpeg_color_space == JCS_YCCK;
  object.out_color_space = cmyk ? JCS_CMYK : (window.channels == 1 ? JCS_GRAYSCALE : JCS_RGB);
}

bool JpegDecoder::State::DecodeRows(const JpegWindow& window, JpegPart& part) {
  jpeg_decompress_struct& object = jpeg.object;
  jpeg_start_decompress(&object);
  if (!libjpeg::HasAllComponents(object)) return false;
  // Columns next to a cropped edge differ from those of a whole decode, because chroma upsampling
  // has no neighbour there. So a margin is decoded and not used.
  constexpr std::uint32_t kMargin = 4;
  const std::uint32_t r = window.reduction;
  const std::uint32_t left = window.left / r;
  const std::uint32_t right =
      std::min((window.left + window.width + r - 1) / r, object.output_width);
  JDIMENSION x = left > kMargin ? left - kMargin : 0;
  JDIMENSION width = std::min(right + kMargin, object.output_width) - x;
  if (width < object.output_width) jpeg_crop_scanline(&object, &x, &width);
  const std::uint32_t top = window.top / r;
  const std::uint32_t bottom =
      std::min((window.top + window.height + r - 1) / r, object.output_height);
  const std::uint32_t channels = object.out_color_space == JCS_CMYK ? 4 : window.channels;
  part.stride = std::size_t{width} * channels;
  rows.resize(part.stride * (bottom - top));
  if (top > 0) jpeg_skip_scanlines(&object, top);
  while (object.output_scanline < bottom) {
    std::uint8_t* const row = rows.data() + (object.output_scanline - top) * part.stride;
    JSAMPROW target = row;
    jpeg_read_scanlines(&object, &target, 1);
    if (channels == 4) {
      CmykToRgb(row, width, object.saw_Adobe_marker != 0);
      if (window.channels == 1) RgbToGrey(row, width);
    }
  }
  part.pixels = rows.data();
  part.reduction = r;
  part.left = x;
  part.top = top;
  part.width = width;
  part.height = bottom - top;
  return true;
}

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {}
JpegDecoder::~JpegDecoder() = default;
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;
JpegDecoder& JpegDecoder::operator=(JpegDecoder&&) noexcept = default;

Defect JpegDecoder::Decode(Bytes file, std::uint32_t width, std::uint32_t height,
                           const JpegWindow& window, JpegPart& part) {
  State& state = *state_;
  if (setjmp(state.jpeg.trap.jump) != 0) return state.jpeg.trap.Sentence();
  state.Prepare(file, window);
  if (state.jpeg.object.image_width != width || state.jpeg.object.image_height != height) {
    return "the JPEG is of another size than the table says";
  }
  if (!state.DecodeRows(window, part)) return "one of its colour components is missing";
  return nullptr;
}

bool ReadJpegInfo(Bytes file, JpegInfo& info, std::string& why) {
  const auto jpeg = std::make_unique<libjpeg::Decompressor>();
  if (setjmp(jpeg->trap.jump) != 0) {
    why = jpeg->trap.Sentence();
    return false;
  }
  libjpeg::ReadHeader(jpeg->object, file);
  info.width = jpeg->object.image_width;
  info.height = jpeg->object.image_height;
  info.channels = jpeg->object.num_components == 1 ? 1 : 3;
  if (jpeg->object.data_precision != 8) {
    why =
        "has " + std::to_string(jpeg->object.data_precision) + "-bit samples; only 8 are supported";
    return false;
  }
  if (std::uint64_t{info.width} * info.height > kMaxImagePixels) {
    why = "has more than 268435456 pixels";
    return false;
  }
  return true;
}

}  // namespace sluice
