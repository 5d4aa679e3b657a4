#include "writer/encode/jpeg.h"

#include <algorithm>

#include <sluice/error.h>

#include "writer/encode/jpeg_writing.h"

namespace sluice {

namespace {

void Encode(JpegWriting& jpeg, const Picture& picture, const ConvertOptions& options) {
  if (setjmp(jpeg.trap.jump) != 0) jpeg.trap.Throw();
  jpeg_compress_struct& object = jpeg.object;
  object.image_width = picture.width;
  object.image_height = picture.height;
  object.input_components = static_cast<int>(picture.channels);
  object.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&object);
  jpeg_set_quality(&object, options.quality, TRUE);
  object.dct_method = JDCT_ISLOW;
  object.optimize_coding = FALSE;
  object.restart_in_rows = static_cast<int>(options.restart_rows);
  const int luma = options.subsampling == Subsampling::k420 && picture.channels == 3 ? 2 : 1;
  object.comp_info[0].h_samp_factor = luma;
  object.comp_info[0].v_samp_factor = luma;
  jpeg_start_compress(&object, TRUE);
  const std::size_t stride = std::size_t{picture.width} * picture.channels;
  while (object.next_scanline < object.image_height) {
    // libjpeg takes rows by non-const pointers, but does not write to them.
    auto* row = const_cast<JSAMPROW>(picture.pixels.data() + object.next_scanline * stride);
    jpeg_write_scanlines(&object, &row, 1);
  }
  jpeg_finish_compress(&object);
}

}  // namespace

std::vector<std::byte> EncodeJpeg(const Picture& picture, const ConvertOptions& options) {
  if (std::max(picture.width, picture.height) > kMaxJpegSide) {
    throw Error(ErrorCode::kLimit, "has " + std::to_string(picture.width) + "x" +
                                       std::to_string(picture.height) +
                                       " pixels, but a side of a JPEG can have at most 65500; make "
                                       "it smaller, or store raw pixels");
  }
  JpegWriting jpeg;
  Encode(jpeg, picture, options);
  return jpeg.File();
}

}  // namespace sluice
