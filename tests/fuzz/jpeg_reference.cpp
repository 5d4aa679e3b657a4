#include "tests/fuzz/jpeg_reference.h"

#include <algorithm>
#include <cstdlib>

#include "format/pixels/libjpeg.h"
#include "tests/fuzz/jpeg_content.h"

namespace sluice::fuzz {

namespace {

// Errors leave by a jump, so the vectors that this fills belong to the caller.
void ReadLines(jpeg_decompress_struct& object, Reference& reference, std::vector<JSAMPROW>* rows) {
  JSAMPARRAY pointers[3] = {rows[0].data(), rows[1].data(), rows[2].data()};
  const auto lines = static_cast<JDIMENSION>(object.max_v_samp_factor * DCTSIZE);
  while (object.output_scanline < object.output_height) {
    const std::size_t mcu_row = object.output_scanline / lines;
    for (std::size_t c = 0; c < reference.planes.size(); ++c) {
      ReferencePlane& plane = reference.planes[c];
      const std::size_t count = rows[c].size();
      for (std::size_t r = 0; r < count; ++r)
        rows[c][r] = plane.samples.data() + (mcu_row * count + r) * plane.stride;
    }
    jpeg_read_raw_data(&object, pointers, lines);
  }
}

enum class Arithmetic {
  kVectorX86,    // see SamplesAreDefined()
  kOtherVector,  // saturates samples
  kPlain,
};

// Decodes one block whose DC coefficient is 5000; 1016 is already white. Vector code gives white,
// plain code wraps.
Arithmetic FindArithmetic() {
  JpegContent content;
  content.width = content.height = 8;
  content.components.resize(1);
  content.LayOut();
  std::fill_n(content.components[0].quant, kBlockSize, std::uint16_t{5});
  content.components[0].coefficients[0] = 1000;
  const Reference reference = DecodeByLibjpeg(WriteContent(content, {}));
  Promise(reference.taken, "libjpeg takes a block of its own making");
  if (reference.planes[0].samples[0] != 255) return Arithmetic::kPlain;
#ifdef __x86_64__
  return Arithmetic::kVectorX86;
#else
  return Arithmetic::kOtherVector;
#endif
}

}  // namespace

Reference DecodeByLibjpeg(Bytes file) {
  Reference reference;
  std::vector<JSAMPROW> rows[3];
  libjpeg::Decompressor jpeg;
  if (setjmp(jpeg.trap.jump) != 0) {
    reference.why = jpeg.trap.text;
    return reference;
  }
  jpeg_decompress_struct& object = jpeg.object;
  libjpeg::ReadHeader(object, file);
  reference.ycc_or_grey =
      object.jpeg_color_space == JCS_YCbCr || object.jpeg_color_space == JCS_GRAYSCALE;
  object.dct_method = JDCT_ISLOW;
  object.raw_data_out = TRUE;
  object.out_color_space = object.jpeg_color_space;
  jpeg_start_decompress(&object);
  reference.planes.resize(static_cast<std::size_t>(std::min(object.num_components, 3)));
  for (std::size_t c = 0; c < reference.planes.size(); ++c) {
    const jpeg_component_info& info = object.comp_info[c];
    ReferencePlane& plane = reference.planes[c];
    plane.width = info.downsampled_width;
    plane.height = info.downsampled_height;
    rows[c].resize(static_cast<std::size_t>(info.v_samp_factor) * DCTSIZE);
    plane.stride =
        (std::size_t{info.width_in_blocks} + static_cast<std::size_t>(info.h_samp_factor)) *
        DCTSIZE;
    plane.samples.resize(plane.stride * rows[c].size() * object.total_iMCU_rows);
  }
  ReadLines(object, reference, rows);
  reference.taken = true;
  return reference;
}

bool SamplesAreDefined(const std::int16_t* coefficients, const std::uint16_t* quant) {
  static const Arithmetic arithmetic = FindArithmetic();
  if (arithmetic == Arithmetic::kVectorX86) {
    if (std::any_of(coefficients + 8, coefficients + kBlockSize,
                    [](std::int16_t value) { return value != 0; })) {
      return true;
    }
    for (std::size_t i = 0; i < 8; ++i) {
      const auto value = static_cast<std::int16_t>(coefficients[i] * quant[i]);
      if (value > 8191 || value < -8192) return false;  // 4 * value needs more than 16 bits
    }
    return true;
  }
  // Samples are at most a quarter of `sum`, and plain code wraps them at 512 on either side of the
  // middle: with 2000 it does not. Sums inside of the transform are at most 8 * sqrt(2) times
  // `sum`, and vector code keeps them in 16 bits: with 2800 they are below 32,768.
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kBlockSize; ++i)
    sum += std::abs(coefficients[i] * quant[i]);
  return sum <= (arithmetic == Arithmetic::kPlain ? 2000 : 2800);
}

}  // namespace sluice::fuzz
