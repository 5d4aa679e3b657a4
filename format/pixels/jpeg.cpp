// libjpeg leaves by longjmp on an error. So each decoding function first calls setjmp, and then
// functions without objects that have destructors; what must survive the jump is in State.
// Neither decoder reads a picture to its end unless it must: JpegDecoder skips the lines above its
// window, and both stop below. A decompression is not finished properly then; Renew() cleans up
// before the next file. JpegPlanes gets lines of MCUs by lines and transposes them, because planes
// are stored by columns.
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

namespace {
constexpr std::size_t kTransposeTile = 16;  // side of the blocks that a transposition writes
}

struct JpegPlanes::State {
  explicit State(const kernels::Kernels& kernel_set) : set(kernel_set) {}

  const kernels::Kernels& set;
  // A decompressor of its own: in libjpeg-turbo 2.1 one object must not be used in turn for raw
  // output and for skipping lines.
  libjpeg::Decompressor jpeg;
  Defect defect = nullptr;
  std::uint32_t components = 0;
  ColumnPlane planes[3];
  std::vector<std::uint8_t> samples[3];
  std::vector<std::uint8_t> rows[3];  // a line of MCUs as libjpeg gives it
  std::size_t row_stride[3] = {};
  std::vector<JSAMPROW> row_pointers[3];

  bool LayOut(const Region& whole, const DecodePolicy& policy);
  void DecodeRows(bool all);
};

// Lays out the planes, and memory for a line of MCUs. False if the picture's size is not a whole
// multiple of a component's.
bool JpegPlanes::State::LayOut(const Region& whole, const DecodePolicy& policy) {
  const jpeg_decompress_struct& object = jpeg.object;
  for (std::uint32_t c = 0; c < components; ++c) {
    const jpeg_component_info& info = object.comp_info[c];
    const auto sample_size = static_cast<std::uint32_t>(libjpeg::BlockSide(info));
    const std::uint32_t across = static_cast<std::uint32_t>(info.h_samp_factor) * sample_size;
    const std::uint32_t down = static_cast<std::uint32_t>(info.v_samp_factor) * sample_size;
    const auto mcu_width = static_cast<std::uint32_t>(object.max_h_samp_factor * DCTSIZE);
    const auto mcu_height = static_cast<std::uint32_t>(object.max_v_samp_factor * DCTSIZE);
    if (mcu_width % across != 0 || mcu_height % down != 0) return false;
    const Region region = RegionOf(whole, c, policy);
    ColumnPlane& plane = planes[c];
    plane.x =
        MakeComponentAxis(region.x, mcu_width / across, info.downsampled_width, region.filter);
    plane.y =
        MakeComponentAxis(region.y, mcu_height / down, info.downsampled_height, region.filter);
    plane.left = plane.x.first / kTransposeTile * kTransposeTile;
    plane.top = plane.y.first / down * down;
    const std::size_t wanted_rows = AlignUp(plane.y.last - plane.top, down) + kTransposeTile;
    plane.stride = AlignUp(wanted_rows, 32) + 32;
    const std::size_t wanted_columns = AlignUp(plane.x.last - plane.left, kTransposeTile);
    const std::size_t size = plane.stride * wanted_columns + kernels::kSlack;
    if (samples[c].size() < size) samples[c].resize(size);
    plane.data = samples[c].data();
    row_stride[c] = AlignUp(std::size_t{info.width_in_blocks} * sample_size, kTransposeTile) +
                    mcu_width + kTransposeTile;
    const std::size_t row_count = AlignUp(down, kTransposeTile);
    if (rows[c].size() < row_stride[c] * row_count) rows[c].resize(row_stride[c] * row_count);
    row_pointers[c].resize(row_count);
    for (std::size_t r = 0; r < row_count; ++r) {
      row_pointers[c][r] = rows[c].data() + r * row_stride[c];
    }
  }
  return true;
}

// Leaves by longjmp on an error: no objects with destructors here.
void JpegPlanes::State::DecodeRows(bool all) {
  jpeg_decompress_struct& object = jpeg.object;
  JSAMPARRAY pointers[3] = {row_pointers[0].data(), row_pointers[1].data(), row_pointers[2].data()};
  const auto lines =
      static_cast<JDIMENSION>(object.max_v_samp_factor * libjpeg::LeastBlockSide(object));
  for (std::uint32_t mcu_row = 0;; ++mcu_row) {
    bool more = all;
    for (std::uint32_t c = 0; c < components; ++c) {
      const jpeg_component_info& info = object.comp_info[c];
      const auto down = static_cast<std::uint32_t>(info.v_samp_factor * libjpeg::BlockSide(info));
      more = more || mcu_row * down < planes[c].y.last;
    }
    if (!more || object.output_scanline >= object.output_height) return;
    jpeg_read_raw_data(&object, pointers, lines);
    for (std::uint32_t c = 0; c < components; ++c) {
      const jpeg_component_info& info = object.comp_info[c];
      const auto down = static_cast<std::uint32_t>(info.v_samp_factor * libjpeg::BlockSide(info));
      const ColumnPlane& plane = planes[c];
      const std::uint32_t row = mcu_row * down;
      if (row < plane.top || row >= plane.y.last) continue;
      set.transpose(rows[c].data() + plane.left, row_stride[c], down, plane.x.last - plane.left,
                    samples[c].data() + (row - plane.top), plane.stride);
    }
  }
}

JpegPlanes::JpegPlanes(const kernels::Kernels& set) : state_(std::make_unique<State>(set)) {}
JpegPlanes::~JpegPlanes() = default;
JpegPlanes::JpegPlanes(JpegPlanes&&) noexcept = default;
JpegPlanes& JpegPlanes::operator=(JpegPlanes&&) noexcept = default;

JpegPlanes::Outcome JpegPlanes::Decode(Bytes file, std::uint32_t width, std::uint32_t height,
                                       const Region& region, const DecodePolicy& policy) {
  State& state = *state_;
  jpeg_decompress_struct& object = state.jpeg.object;
  if (setjmp(state.jpeg.trap.jump) != 0) {
    state.defect = state.jpeg.trap.Sentence();
    return Outcome::kBroken;
  }
  state.jpeg.Renew();
  libjpeg::ReadHeader(object, file);
  if (object.image_width != width || object.image_height != height) {
    state.defect = "the JPEG is of another size than the table says";
    return Outcome::kBroken;
  }
  if (object.jpeg_color_space != JCS_YCbCr && object.jpeg_color_space != JCS_GRAYSCALE) {
    return Outcome::kOtherColours;
  }
  object.scale_num = 8U >> ReductionLog2(region, 1, 1, policy.samples_per_pixel);
  object.scale_denom = 8;
  object.dct_method = JDCT_ISLOW;
  object.raw_data_out = TRUE;
  object.out_color_space = object.jpeg_color_space;
  jpeg_start_decompress(&object);
  if (!libjpeg::HasAllComponents(object)) {
    state.defect = "one of its colour components is missing";
    return Outcome::kBroken;
  }
  state.components = static_cast<std::uint32_t>(object.num_components);
  if (!state.LayOut(region, policy)) return Outcome::kOtherColours;
  state.DecodeRows(policy.whole_file);
  return Outcome::kDecoded;
}

Defect JpegPlanes::defect() const noexcept {
  return state_->defect;
}
const ColumnPlane* JpegPlanes::planes() const noexcept {
  return state_->planes;
}
std::uint32_t JpegPlanes::components() const noexcept {
  return state_->components;
}

}  // namespace sluice
