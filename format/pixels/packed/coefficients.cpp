#include "format/pixels/packed/coefficients.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/pixels/libjpeg.h"

namespace sluice::packed {

namespace {

// A side that libjpeg writes.
constexpr std::uint32_t kMostJpegSide = JPEG_MAX_DIMENSION;

// Takes the part of the header that is known before the scans. False if a packed image cannot hold
// it.
bool TakeHeader(const jpeg_decompress_struct& object, Header& header) noexcept {
  const bool grey = object.num_components == 1 && object.jpeg_color_space == JCS_GRAYSCALE;
  const bool colour = object.num_components == 3 && object.jpeg_color_space == JCS_YCbCr;
  if ((!grey && !colour) || object.data_precision != 8) return false;
  header.width = object.image_width;
  header.height = object.image_height;
  if (std::uint64_t{header.width} * header.height > kMaxImagePixels) return false;
  header.components = static_cast<std::uint32_t>(object.num_components);
  const jpeg_component_info* const c = object.comp_info;
  if (colour) {
    if (c[0].h_samp_factor > 2 || c[0].v_samp_factor > 2 || c[1].h_samp_factor != 1 ||
        c[1].v_samp_factor != 1 || c[2].h_samp_factor != 1 || c[2].v_samp_factor != 1) {
      return false;
    }
    header.component[0].h = static_cast<std::uint8_t>(c[0].h_samp_factor);
    header.component[0].v = static_cast<std::uint8_t>(c[0].v_samp_factor);
  }
  LayOut(header);
  header.restart_interval = static_cast<std::uint16_t>(object.restart_interval);
  if (object.saw_JFIF_marker != 0) {
    header.jfif_major = object.JFIF_major_version;
    header.jfif_minor = object.JFIF_minor_version;
    header.density_unit = object.density_unit;
    header.density_x = object.X_density;
    header.density_y = object.Y_density;
  }
  return true;
}

// Takes the tables as they were when each component's first scan began. They keep their order and
// get the numbers that our files use: 0 for the first component, 1 for the others.
bool TakeTables(const jpeg_decompress_struct& object, Header& header) noexcept {
  int numbers[3] = {};
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const jpeg_component_info& info = object.comp_info[c];
    if (info.quant_table == nullptr) return false;
    std::uint32_t t = 0;
    while (t < header.tables && numbers[t] != info.quant_tbl_no)
      ++t;
    std::uint8_t steps[64];
    for (std::size_t i = 0; i < 64; ++i) {
      const UINT16 step = info.quant_table->quantval[i];
      if (step == 0 || step > 255) return false;
      steps[i] = static_cast<std::uint8_t>(step);
    }
    if (t == header.tables) {
      numbers[header.tables++] = info.quant_tbl_no;
      std::memcpy(header.table[t], steps, sizeof(steps));
    } else if (std::memcmp(header.table[t], steps, sizeof(steps)) != 0) {
      return false;  // one table number that got two tables between scans
    }
    header.component[c].table = static_cast<std::uint8_t>(t);
  }
  return true;
}

bool HasCodes(const JCOEF* block) noexcept {
  if (block[0] < kLeastDc || block[0] > kMostDc) return false;
  return std::all_of(block + 1, block + DCTSIZE2,
                     [](JCOEF value) { return value >= -kMostAc && value <= kMostAc; });
}

// Leaves by longjmp on an error: no objects with destructors here.
bool TakeBlocks(jpeg_decompress_struct& object, jvirt_barray_ptr* arrays,
                Coefficients& coefficients) {
  for (std::uint32_t c = 0; c < coefficients.header.components; ++c) {
    const Component& component = coefficients.header.component[c];
    std::int16_t* out = coefficients.blocks[c].data();
    for (JDIMENSION y = 0; y < component.down; ++y) {
      const JBLOCKARRAY row = object.mem->access_virt_barray(
          reinterpret_cast<j_common_ptr>(&object), arrays[c], y, 1, FALSE);
      for (std::uint32_t x = 0; x < component.across; ++x, out += DCTSIZE2) {
        if (!HasCodes(row[0][x])) return false;
        std::memcpy(out, row[0][x], DCTSIZE2 * sizeof(JCOEF));
      }
    }
  }
  return true;
}

// libjpeg's object for writing, with errors trapped and the file gathered in memory. Must not move.
struct Compressor {
  Compressor() {
    object.err = jpeg_std_error(&trap.base);
    trap.base.error_exit = [](j_common_ptr common) {
      auto* own = reinterpret_cast<libjpeg::ErrorTrap*>(common->err);
      common->err->format_message(common, own->text);
      std::longjmp(own->jump, 1);
    };
    jpeg_create_compress(&object);
    jpeg_mem_dest(&object, &file, &bytes);
  }
  ~Compressor() {
    jpeg_destroy_compress(&object);
    std::free(file);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  libjpeg::ErrorTrap trap{};
  jpeg_compress_struct object{};
  unsigned char* file = nullptr;  // allocated by libjpeg with malloc
  unsigned long bytes = 0;
};

void SetParameters(jpeg_compress_struct& object, const Header& header) {
  libjpeg::SetSize(object, header.width, header.height);
  object.input_components = static_cast<int>(header.components);
  object.in_color_space = header.components == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
  jpeg_set_defaults(&object);
  jpeg_set_colorspace(&object, object.in_color_space);
  object.JFIF_major_version = header.jfif_major;
  object.JFIF_minor_version = header.jfif_minor;
  object.density_unit = header.density_unit;
  object.X_density = header.density_x;
  object.Y_density = header.density_y;
  object.restart_interval = header.restart_interval;
  object.restart_in_rows = 0;
  object.optimize_coding = FALSE;
  for (std::uint32_t t = 0; t < header.tables; ++t) {
    unsigned steps[64];
    std::copy_n(header.table[t], 64, steps);
    jpeg_add_quant_table(&object, static_cast<int>(t), steps, 100, TRUE);
  }
  for (std::uint32_t c = 0; c < header.components; ++c) {
    object.comp_info[c].h_samp_factor = header.component[c].h;
    object.comp_info[c].v_samp_factor = header.component[c].v;
    object.comp_info[c].quant_tbl_no = header.component[c].table;
  }
}

// Leaves by longjmp on an error: no objects with destructors here.
void Write(jpeg_compress_struct& object, const Coefficients& coefficients) {
  const Header& header = coefficients.header;
  SetParameters(object, header);
  jvirt_barray_ptr arrays[3] = {};
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const Component& component = header.component[c];
    const auto whole = [](std::uint32_t count, std::uint32_t factor) {
      return (count + factor - 1) / factor * factor;
    };
    arrays[c] = object.mem->request_virt_barray(
        reinterpret_cast<j_common_ptr>(&object), JPOOL_IMAGE, TRUE,
        whole(component.across, component.h), whole(component.down, component.v), component.v);
  }
  jpeg_write_coefficients(&object, arrays);
  // libjpeg codes nothing before jpeg_finish_compress().
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const Component& component = header.component[c];
    const std::int16_t* in = coefficients.blocks[c].data();
    for (JDIMENSION y = 0; y < component.down; ++y) {
      const JBLOCKARRAY row = object.mem->access_virt_barray(
          reinterpret_cast<j_common_ptr>(&object), arrays[c], y, 1, TRUE);
      std::memcpy(row[0], in, std::size_t{component.across} * sizeof(JBLOCK));
      in += std::size_t{component.across} * DCTSIZE2;
    }
  }
  jpeg_finish_compress(&object);
}

}  // namespace

Taken ReadCoefficients(Bytes jpeg, Coefficients& coefficients, std::string& why) {
  coefficients.header = Header{};
  libjpeg::Decompressor reading;
  jpeg_decompress_struct& object = reading.object;
  if (setjmp(reading.trap.jump) != 0) {
    why = reading.trap.text;
    return Taken::kBroken;
  }
  libjpeg::ReadHeader(object, jpeg);
  if (!TakeHeader(object, coefficients.header)) return Taken::kNo;
  jvirt_barray_ptr* const arrays = jpeg_read_coefficients(&object);
  if (!libjpeg::HasAllComponents(object)) {
    why = "one of its colour components is missing";
    return Taken::kBroken;
  }
  if (!TakeTables(object, coefficients.header)) return Taken::kNo;
  for (std::uint32_t c = 0; c < coefficients.header.components; ++c) {
    const Component& component = coefficients.header.component[c];
    coefficients.blocks[c].resize(std::size_t{component.across} * component.down * DCTSIZE2);
  }
  return TakeBlocks(object, arrays, coefficients) ? Taken::kYes : Taken::kNo;
}

std::vector<std::byte> WriteJpeg(const Coefficients& coefficients) {
  const Header& header = coefficients.header;
  const auto refuse = [](const char* why) { throw Error(ErrorCode::kCorrupt, why); };
  if (std::max(header.width, header.height) > kMostJpegSide) refuse("is too large for libjpeg");
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const std::vector<std::int16_t>& blocks = coefficients.blocks[c];
    for (std::size_t i = 0; i < blocks.size(); i += DCTSIZE2) {
      if (!HasCodes(blocks.data() + i)) refuse("has coefficients that no JPEG file can hold");
    }
  }
  Compressor writing;
  if (setjmp(writing.trap.jump) != 0) throw Error(ErrorCode::kCorrupt, writing.trap.text);
  Write(writing.object, coefficients);
  const auto* begin = reinterpret_cast<const std::byte*>(writing.file);
  return {begin, begin + writing.bytes};
}

}  // namespace sluice::packed
