#include "writer/encode/jpeg.h"

#include <algorithm>
#include <optional>

#include <sluice/error.h>

#include "format/pixels/decode.h"
#include "writer/encode/jpeg_writing.h"

namespace sluice {

namespace {

// The rows of a picture's planes, as libjpeg takes them: the last value of each and the last row
// repeated to whole blocks.
class Ycc420Rows {
 public:
  explicit Ycc420Rows(const Picture& picture) {
    const std::uint8_t* values = picture.pixels.data();
    for (std::uint32_t c = 0; c < 3; ++c) {
      Component& component = components_[c];
      const std::uint32_t shrink = c == 0 ? 1 : 2;
      component.width = (picture.width + shrink - 1) / shrink;
      component.height = (picture.height + shrink - 1) / shrink;
      component.count = kMcuSide / shrink;
      component.values = values;
      values += std::size_t{component.width} * component.height;
      const std::size_t stride = AlignUp(component.width, DCTSIZE);
      component.bytes.resize(stride * component.count);
      for (std::uint32_t row = 0; row < component.count; ++row)
        component.rows[row] = component.bytes.data() + row * stride;
      image_[c] = component.rows;
    }
  }

  // Of the row of MCUs that begins with this row of Y.
  JSAMPIMAGE At(std::uint32_t first) noexcept {
    for (Component& component : components_) {
      for (std::uint32_t row = 0; row < component.count; ++row) {
        const std::uint32_t from =
            std::min(first * component.count / kMcuSide + row, component.height - 1);
        std::uint8_t* const to = component.rows[row];
        std::copy_n(component.values + std::size_t{from} * component.width, component.width, to);
        std::fill(to + component.width, to + AlignUp(component.width, DCTSIZE),
                  to[component.width - 1]);
      }
    }
    return image_;
  }

  static constexpr std::uint32_t kMcuSide = 2 * DCTSIZE;

 private:
  struct Component {
    const std::uint8_t* values = nullptr;
    std::uint32_t width = 0, height = 0;
    std::uint32_t count = 0;  // of rows in a row of MCUs
    std::vector<std::uint8_t> bytes;
    JSAMPROW rows[kMcuSide] = {};
  };
  Component components_[3];
  JSAMPARRAY image_[3] = {};
};

void WritePixels(jpeg_compress_struct& object, const Picture& picture) {
  const std::size_t stride = std::size_t{picture.width} * picture.channels;
  while (object.next_scanline < object.image_height) {
    // libjpeg takes rows by non-const pointers, but does not write to them.
    auto* row = const_cast<JSAMPROW>(picture.pixels.data() + object.next_scanline * stride);
    jpeg_write_scanlines(&object, &row, 1);
  }
}

// `rows`: of a picture that has planes.
void Encode(JpegWriting& jpeg, const Picture& picture, Ycc420Rows* rows,
            const ConvertOptions& options) {
  if (setjmp(jpeg.trap.jump) != 0) jpeg.trap.Throw();
  jpeg_compress_struct& object = jpeg.object;
  object.image_width = picture.width;
  object.image_height = picture.height;
  object.input_components = static_cast<int>(picture.channels);
  object.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE
                          : rows != nullptr     ? JCS_YCbCr
                                                : JCS_RGB;
  jpeg_set_defaults(&object);
  jpeg_set_quality(&object, options.quality, TRUE);
  object.dct_method = JDCT_ISLOW;
  object.optimize_coding = FALSE;
  object.restart_in_rows = static_cast<int>(options.restart_rows);
  const int luma = options.subsampling == Subsampling::k420 && picture.channels == 3 ? 2 : 1;
  object.comp_info[0].h_samp_factor = luma;
  object.comp_info[0].v_samp_factor = luma;
  object.raw_data_in = rows != nullptr ? TRUE : FALSE;
  jpeg_start_compress(&object, TRUE);
  if (rows == nullptr) WritePixels(object, picture);
  while (object.next_scanline < object.image_height)
    jpeg_write_raw_data(&object, rows->At(object.next_scanline), Ycc420Rows::kMcuSide);
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
  std::optional<Ycc420Rows> rows;
  if (picture.ycc420) rows.emplace(picture);
  JpegWriting jpeg;
  Encode(jpeg, picture, rows ? &*rows : nullptr, options);
  return jpeg.File();
}

}  // namespace sluice
