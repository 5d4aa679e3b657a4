#include "format/pixels/packed/coefficients.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/pixels/baseline/file_writer.h"
#include "format/pixels/kernels/zigzag.h"
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

// What a packed image says of a baseline file. False if it cannot hold it.
bool TakeHeader(const baseline::Header& from, Header& header) noexcept {
  header.width = from.width;
  header.height = from.height;
  if (std::uint64_t{header.width} * header.height > kMaxImagePixels) return false;
  header.components = from.components;
  header.component[0].h = from.component[0].h;
  header.component[0].v = from.component[0].v;
  LayOut(header);
  header.restart_interval = static_cast<std::uint16_t>(from.restart_interval);
  header.jfif_major = from.jfif_major;
  header.jfif_minor = from.jfif_minor;
  header.density_unit = from.density_unit;
  header.density_x = from.density_x;
  header.density_y = from.density_y;
  std::uint8_t numbers[3] = {};
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const std::uint8_t number = from.component[c].quant;
    const std::uint8_t* const begin = numbers;
    const std::uint8_t* const end = begin + header.tables;
    const auto table = static_cast<std::uint32_t>(std::find(begin, end, number) - begin);
    header.component[c].table = static_cast<std::uint8_t>(table);
    if (table < header.tables) continue;
    numbers[header.tables++] = number;
    for (std::size_t i = 0; i < DCTSIZE2; ++i) {
      const std::int16_t step = from.quant[number][i];
      if (step == 0) return false;
      header.table[table][i] = static_cast<std::uint8_t>(step);
    }
  }
  return true;
}

void MakeRoom(Coefficients& coefficients) {
  for (std::uint32_t c = 0; c < coefficients.header.components; ++c) {
    const Component& component = coefficients.header.component[c];
    coefficients.blocks[c].resize(std::size_t{component.across} * component.down * DCTSIZE2);
  }
}

bool HasDcCodes(const std::vector<std::int16_t>& blocks) noexcept {
  for (std::size_t i = 0; i < blocks.size(); i += DCTSIZE2) {
    if (blocks[i] < kLeastDc || blocks[i] > kMostDc) return false;
  }
  return true;
}

// Reads a baseline file. False, with nothing lost, if libjpeg must read it or say what is wrong, or
// for a DC coefficient that no packed image holds.
bool TakeBaseline(Bytes jpeg, baseline::BlockReader& reader, Coefficients& coefficients) {
  if (!reader.Begin(jpeg) || !BeginCoefficients(reader.header(), coefficients)) return false;
  const baseline::McuRow row(reader.header());
  kernels::BlockPlaces places[3];
  const std::span<std::vector<std::int16_t>> blocks(coefficients.blocks,
                                                    reader.header().components);
  for (std::uint32_t c = 0; c < blocks.size(); ++c)
    places[c] = row.InPlane(c, blocks[c].data());
  return reader.Read(places, true) && std::ranges::all_of(blocks, HasDcCodes);
}

// The way back: the header of a JPEG file.
baseline::Header HeaderOf(const Header& from) {
  baseline::Header header;
  header.width = from.width;
  header.height = from.height;
  header.components = from.components;
  for (std::uint32_t c = 0; c < from.components; ++c) {
    baseline::Component& component = header.component[c];
    component.h = from.component[c].h;
    component.v = from.component[c].v;
    component.quant = from.component[c].table;
    component.id = static_cast<std::uint8_t>(c + 1);
  }
  for (std::uint32_t t = 0; t < from.tables; ++t)
    std::copy_n(from.table[t], DCTSIZE2, header.quant[t]);
  baseline::DeriveSizes(header);
  header.restart_interval = from.restart_interval;
  header.jfif_major = from.jfif_major;
  header.jfif_minor = from.jfif_minor;
  header.density_unit = from.density_unit;
  header.density_x = from.density_x;
  header.density_y = from.density_y;
  return header;
}

void FillRow(const Coefficients& coefficients, const baseline::McuRow& layout, std::uint32_t row,
             std::int16_t* mcus) {
  for (std::uint32_t c = 0; c < coefficients.header.components; ++c) {
    const Component& component = coefficients.header.component[c];
    for (std::uint32_t v = 0; v < component.v && row * component.v + v < component.down; ++v) {
      const std::int16_t* in = coefficients.blocks[c].data() +
                               std::size_t{row * component.v + v} * component.across * DCTSIZE2;
      for (std::uint32_t x = 0; x < component.across; ++x, in += DCTSIZE2) {
        std::int16_t* const block = mcus + layout.PlaceOf(c, x, v);
        for (std::size_t i = 0; i < DCTSIZE2; ++i)
          block[i] = in[kernels::kZigzag.natural[i]];
      }
    }
  }
  layout.FillEdges(row, mcus);
}

}  // namespace

bool BeginCoefficients(const baseline::Header& header, Coefficients& coefficients) {
  coefficients.header = Header{};
  if (!TakeHeader(header, coefficients.header)) return false;
  MakeRoom(coefficients);
  return true;
}

Taken ReadCoefficients(Bytes jpeg, baseline::BlockReader& reader, Coefficients& coefficients,
                       std::string& why) {
  if (TakeBaseline(jpeg, reader, coefficients)) return Taken::kYes;
  coefficients.header = Header{};
  libjpeg::Decompressor reading;
  jpeg_decompress_struct& object = reading.object;
  if (setjmp(reading.trap.jump) != 0) {
    why = reading.trap.Sentence();
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
  MakeRoom(coefficients);
  return TakeBlocks(object, arrays, coefficients) ? Taken::kYes : Taken::kNo;
}

Taken ReadCoefficients(Bytes jpeg, Coefficients& coefficients, std::string& why) {
  baseline::BlockReader reader(kernels::Chosen());
  return ReadCoefficients(jpeg, reader, coefficients, why);
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
  const baseline::Header to = HeaderOf(header);
  const baseline::McuRow layout(to);
  baseline::FileWriter file(kernels::Chosen(), to);
  std::vector<std::int16_t> mcus(layout.values());
  for (std::uint32_t row = 0; row < to.mcus_down; ++row) {
    FillRow(coefficients, layout, row, mcus.data());
    file.Add(mcus.data());
  }
  return file.Finish();
}

}  // namespace sluice::packed
