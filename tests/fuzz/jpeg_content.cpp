#include "tests/fuzz/jpeg_content.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "format/pixels/libjpeg.h"

namespace sluice::fuzz {

namespace {

constexpr std::uint32_t kMaxSize = 96;  // of pictures made here; larger pictures take longer
constexpr std::int16_t kMaxCoefficient = 1023;

// Errors leave by a jump, so nothing here may have a destructor.
void CopyCoefficients(jpeg_decompress_struct& object, jvirt_barray_ptr* arrays,
                      JpegContent& content) {
  for (int c = 0; c < object.num_components; ++c) {
    const jpeg_component_info& info = object.comp_info[c];
    JpegContent::Component& component = content.components[static_cast<std::size_t>(c)];
    for (int i = 0; i < DCTSIZE2; ++i)
      component.quant[i] = info.quant_table == nullptr ? 0 : info.quant_table->quantval[i];
    for (JDIMENSION y = 0; y < std::min(info.height_in_blocks, component.down); ++y) {
      const JBLOCKARRAY rows = object.mem->access_virt_barray(
          reinterpret_cast<j_common_ptr>(&object), arrays[c], y, 1, FALSE);
      for (JDIMENSION x = 0; x < std::min(info.width_in_blocks, component.across); ++x)
        std::copy_n(rows[0][x], kBlockSize, component.Block(x, y));
    }
  }
}

// Gives every symbol a code of a random length. Many of these tables have a shape that no encoder
// chooses, mostly with many codes of 16 bits.
void MakeAnyTable(const std::vector<std::uint8_t>& all, RandomStream& random, JHUFF_TBL& table) {
  std::vector<std::uint8_t> symbols = all;
  for (std::size_t i = symbols.size(); i > 1; --i)
    std::swap(symbols[i - 1], symbols[random.Below(i)]);
  std::vector<std::uint8_t> of_length[17];
  std::uint32_t room = 65535;  // in codes of 16 bits; the code of all ones is reserved
  std::uint32_t left = static_cast<std::uint32_t>(symbols.size());
  for (const std::uint8_t symbol : symbols) {
    --left;
    auto length = static_cast<std::uint32_t>(1 + random.Below(16));
    while ((65536U >> length) + left > room)
      ++length;
    room -= 65536U >> length;
    of_length[length].push_back(symbol);
  }
  std::size_t count = 0;
  for (std::size_t length = 1; length <= 16; ++length) {
    table.bits[length] = static_cast<UINT8>(of_length[length].size());
    for (const std::uint8_t symbol : of_length[length])
      table.huffval[count++] = symbol;
  }
}

void MakeAnyTables(jpeg_compress_struct& object, std::uint64_t seed) {
  RandomStream random(seed, static_cast<Purpose>(0xF24), 0);
  std::vector<std::uint8_t> dc(12);
  std::iota(dc.begin(), dc.end(), std::uint8_t{0});
  std::vector<std::uint8_t> ac = {0x00, 0xF0};
  for (unsigned run = 0; run < 16; ++run) {
    for (unsigned size = 1; size <= 10; ++size)
      ac.push_back(static_cast<std::uint8_t>(run << 4 | size));
  }
  for (const int number : {0, 1}) {
    MakeAnyTable(dc, random, *object.dc_huff_tbl_ptrs[number]);
    MakeAnyTable(ac, random, *object.ac_huff_tbl_ptrs[number]);
  }
}

void SetUp(jpeg_compress_struct& object, const JpegContent& content, const JpegCoding& coding) {
  libjpeg::SetSize(object, content.width, content.height);
  object.input_components = static_cast<int>(content.components.size());
  object.in_color_space = content.components.size() == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
  jpeg_set_defaults(&object);
  for (std::size_t c = 0; c < content.components.size(); ++c) {
    const JpegContent::Component& from = content.components[c];
    jpeg_component_info& to = object.comp_info[c];
    to.h_samp_factor = from.h;
    to.v_samp_factor = from.v;
    to.quant_tbl_no = static_cast<int>(c);
    unsigned quant[kBlockSize];
    std::copy_n(from.quant, kBlockSize, quant);
    jpeg_add_quant_table(&object, static_cast<int>(c), quant, 100, TRUE);
  }
  object.restart_interval = coding.restart_interval;
  object.optimize_coding = coding.tables == TableKind::kOptimised ? TRUE : FALSE;
  if (coding.tables == TableKind::kAny) MakeAnyTables(object, coding.seed);
}

jvirt_barray_ptr* RequestArrays(jpeg_compress_struct& object, const JpegContent& content) {
  const auto common = reinterpret_cast<j_common_ptr>(&object);
  auto* arrays = static_cast<jvirt_barray_ptr*>(object.mem->alloc_small(
      common, JPOOL_IMAGE, sizeof(jvirt_barray_ptr) * content.components.size()));
  for (std::size_t c = 0; c < content.components.size(); ++c) {
    const JpegContent::Component& component = content.components[c];
    arrays[c] =
        object.mem->request_virt_barray(common, JPOOL_IMAGE, TRUE, component.across, component.down,
                                        static_cast<JDIMENSION>(component.v));
  }
  return arrays;
}

void FillArrays(jpeg_compress_struct& object, jvirt_barray_ptr* arrays,
                const JpegContent& content) {
  for (std::size_t c = 0; c < content.components.size(); ++c) {
    const JpegContent::Component& component = content.components[c];
    for (std::uint32_t y = 0; y < component.down; ++y) {
      const JBLOCKARRAY rows = object.mem->access_virt_barray(
          reinterpret_cast<j_common_ptr>(&object), arrays[c], y, 1, TRUE);
      const std::size_t values = component.across * kBlockSize;
      const std::int16_t* const from = component.coefficients.data() + y * values;
      std::transform(from, from + values, rows[0][0], [](std::int16_t value) {
        return std::clamp<std::int16_t>(value, -kMaxCoefficient, kMaxCoefficient);
      });
    }
  }
}

// A value of up to `bits` bits, of either sign.
std::int16_t AnyCoefficient(RandomStream& random, std::uint64_t bits) {
  const auto size = random.Below(bits + 1);
  const auto value = static_cast<int>(random.Below(std::uint64_t{1} << size));
  return static_cast<std::int16_t>(random.Below(2) == 0 ? value : -value);
}

void AnyQuantisation(std::uint16_t* quant, RandomStream& random) {
  static constexpr std::uint64_t kMost[] = {1, 2, 16, 255};
  const std::uint64_t most = kMost[random.Below(std::size(kMost))];
  for (std::size_t i = 0; i < kBlockSize; ++i)
    quant[i] = static_cast<std::uint16_t>(1 + random.Below(most));
}

}  // namespace

void JpegContent::LayOut() {
  const auto max_h = static_cast<std::uint32_t>(components[0].h);
  const auto max_v = static_cast<std::uint32_t>(components[0].v);
  for (Component& component : components) {
    component.across =
        (width + 8 * max_h - 1) / (8 * max_h) * static_cast<std::uint32_t>(component.h);
    component.down =
        (height + 8 * max_v - 1) / (8 * max_v) * static_cast<std::uint32_t>(component.v);
    component.coefficients.assign(std::size_t{component.across} * component.down * kBlockSize, 0);
  }
}

bool ReadContent(Bytes file, JpegContent& content) {
  libjpeg::Decompressor jpeg;
  if (setjmp(jpeg.trap.jump) != 0) return false;
  jpeg_decompress_struct& object = jpeg.object;
  libjpeg::ReadHeader(object, file);
  if ((object.num_components != 1 && object.num_components != 3) ||
      std::uint64_t{object.image_width} * object.image_height > (1U << 22)) {
    return false;
  }
  jvirt_barray_ptr* const arrays = jpeg_read_coefficients(&object);
  content.width = object.image_width;
  content.height = object.image_height;
  content.components.assign(static_cast<std::size_t>(object.num_components), {});
  const bool grey = content.components.size() == 1;
  for (std::size_t c = 0; c < content.components.size(); ++c) {
    content.components[c].h = object.comp_info[c].h_samp_factor;
    content.components[c].v = object.comp_info[c].v_samp_factor;
    if (grey) continue;
    const int most = c == 0 ? 2 : 1;
    if (content.components[c].h > most || content.components[c].v > most) return false;
  }
  content.LayOut();
  CopyCoefficients(object, arrays, content);
  return true;
}

Input WriteContent(const JpegContent& content, const JpegCoding& coding) {
  jpeg_compress_struct object{};
  jpeg_error_mgr errors{};
  object.err = jpeg_std_error(&errors);  // an error would be a bug in this file, and exits
  jpeg_create_compress(&object);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&object, &memory, &size);
  SetUp(object, content, coding);
  jvirt_barray_ptr* const arrays = RequestArrays(object, content);
  jpeg_write_coefficients(&object, arrays);
  FillArrays(object, arrays, content);
  jpeg_finish_compress(&object);
  jpeg_destroy_compress(&object);
  const auto* bytes = reinterpret_cast<const std::byte*>(memory);
  Input file(bytes, bytes + size);
  std::free(memory);
  return file;
}

JpegContent AnyContent(RandomStream& random) {
  JpegContent content;
  content.width = static_cast<std::uint32_t>(1 + random.Below(40));
  content.height = static_cast<std::uint32_t>(1 + random.Below(40));
  content.components.resize(random.Below(4) == 0 ? 1 : 3);
  content.components[0].h = static_cast<int>(1 + random.Below(2));
  content.components[0].v = static_cast<int>(1 + random.Below(2));
  content.LayOut();
  const std::uint64_t density = std::uint64_t{1} << random.Below(7);  // of 64
  const std::uint64_t bits = 1 + random.Below(10);
  for (JpegContent::Component& component : content.components) {
    AnyQuantisation(component.quant, random);
    for (std::int16_t& value : component.coefficients) {
      if (random.Below(64) < density) value = AnyCoefficient(random, bits);
    }
  }
  return content;
}

void ChangeContent(JpegContent& content, RandomStream& random) {
  JpegContent::Component& component = content.components[random.Below(content.components.size())];
  std::int16_t* const block = component.coefficients.data() +
                              random.Below(component.coefficients.size() / kBlockSize) * kBlockSize;
  switch (random.Below(6)) {
    case 0: AnyQuantisation(component.quant, random); return;
    case 1:  // up to two coefficients, one of them among the last four
      std::fill_n(block, kBlockSize, std::int16_t{0});
      block[63 - random.Below(4)] = AnyCoefficient(random, 10);
      block[random.Below(64)] = AnyCoefficient(random, 10);
      return;
    case 2:  // 64 random coefficients
      for (std::size_t i = 0; i < kBlockSize; ++i)
        block[i] = AnyCoefficient(random, 10);
      return;
    case 3: {
      JpegContent other;
      other.width = static_cast<std::uint32_t>(1 + random.Below(kMaxSize));
      other.height = static_cast<std::uint32_t>(1 + random.Below(kMaxSize));
      other.components = content.components;
      other.LayOut();
      for (std::size_t c = 0; c < other.components.size(); ++c) {
        JpegContent::Component& from = content.components[c];
        JpegContent::Component& to = other.components[c];
        for (std::uint32_t y = 0; y < to.down; ++y) {
          for (std::uint32_t x = 0; x < to.across; ++x)
            std::copy_n(from.Block(x % from.across, y % from.down), kBlockSize, to.Block(x, y));
        }
      }
      content = std::move(other);
      return;
    }
    default:
      for (std::uint64_t left = 1 + random.Below(8); left > 0; --left)
        block[random.Below(64)] = AnyCoefficient(random, 10);
      return;
  }
}

JpegCoding AnyCoding(RandomStream& random) {
  JpegCoding coding;
  coding.restart_interval =
      random.Below(2) == 0 ? 0 : static_cast<std::uint32_t>(1 + random.Below(12));
  coding.tables = static_cast<TableKind>(random.Below(3));
  coding.seed = random.Word();
  return coding;
}

}  // namespace sluice::fuzz
