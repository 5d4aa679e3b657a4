// JPEG files and packed payloads are turned into each other by way of their coefficients:
// quantised, in natural order, without any coding. Our own decoder reads a JPEG's coefficients; if
// the JPEG is progressive or arithmetic coded, libjpeg does. A JPEG file that a conversion made is
// written again with the same bytes. Packing lays the blocks of a line out as FORMAT.md ("Packed")
// says; unpacking checks every rule of it.
#include "format/pixels/packed/pack.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <span>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/pixels/baseline/encoder.h"
#include "format/pixels/kernels/kernels.h"
#include "format/pixels/kernels/tables.h"
#include "format/pixels/libjpeg.h"

namespace sluice::packed {

namespace {

// The longest side that libjpeg reads, so that others can read what WriteJpeg() makes.
constexpr std::uint32_t kMaxJpegSide = JPEG_MAX_DIMENSION;

// Takes the part of the header that is known before the scans. False if a packed image cannot hold
// it.
bool TakeFrameHeader(const jpeg_decompress_struct& object, Header& header) noexcept {
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

// Takes the tables as they were when each component's first scan began. Numbers them from 0 on, in
// the order in which the components use them.
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
      return false;  // the file has redefined the table of this number between scans
    }
    header.component[c].table = static_cast<std::uint8_t>(t);
  }
  return true;
}

constexpr char kWithoutCodes[] = "the packed image has coefficients that no JPEG file can hold";

// The Huffman codes of a JPEG end at these values. A packed payload could hold larger ones, and
// would then have no JPEG file.
bool HasCodes(const JCOEF* block) noexcept {
  if (block[0] < kLeastDc || block[0] > kMaxDc) return false;
  return std::all_of(block + 1, block + DCTSIZE2,
                     [](JCOEF value) { return value >= -kMaxAc && value <= kMaxAc; });
}

// Leaves by longjmp on an error: no objects with destructors here.
bool TakeBlocks(jpeg_decompress_struct& object, jvirt_barray_ptr* arrays,
                Coefficients& coefficients) {
  for (std::uint32_t c = 0; c < coefficients.header.components; ++c) {
    const Component& component = coefficients.header.component[c];
    std::int16_t* out = coefficients.blocks[c].data();
    for (JDIMENSION y = 0; y < component.down; ++y) {
      const JBLOCKARRAY line = object.mem->access_virt_barray(
          reinterpret_cast<j_common_ptr>(&object), arrays[c], y, 1, FALSE);
      for (std::uint32_t x = 0; x < component.across; ++x, out += DCTSIZE2) {
        if (!HasCodes(line[0][x])) return false;
        std::memcpy(out, line[0][x], DCTSIZE2 * sizeof(JCOEF));
      }
    }
  }
  return true;
}

// The header of a packed image for a baseline file. False if a packed image cannot hold the file.
bool HeaderFromBaseline(const baseline::Header& from, Header& header) noexcept {
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

void SizeComponents(Coefficients& coefficients) {
  for (std::uint32_t c = 0; c < coefficients.header.components; ++c) {
    const Component& component = coefficients.header.component[c];
    coefficients.blocks[c].resize(std::size_t{component.across} * component.down * DCTSIZE2);
  }
}

bool HasDcCodes(const std::vector<std::int16_t>& blocks) noexcept {
  for (std::size_t i = 0; i < blocks.size(); i += DCTSIZE2) {
    if (blocks[i] < kLeastDc || blocks[i] > kMaxDc) return false;
  }
  return true;
}

// Reads a baseline file. Returns false if libjpeg must read the file or say what is wrong with it.
// Also false if a DC coefficient is one that no packed image holds.
bool TakeBaseline(Bytes jpeg, baseline::BlockReader& reader, Coefficients& coefficients) {
  if (!reader.Begin(jpeg) || !BeginCoefficients(reader.header(), coefficients)) return false;
  const baseline::McuLine line(reader.header());
  kernels::BlockPlaces places[3];
  const std::span<std::vector<std::int16_t>> blocks(coefficients.blocks,
                                                    reader.header().components);
  for (std::uint32_t c = 0; c < blocks.size(); ++c)
    places[c] = line.InPlane(c, blocks[c].data());
  return reader.Read(places, true) && std::ranges::all_of(blocks, HasDcCodes);
}

// The reverse of HeaderFromBaseline(): the header of the JPEG file for a packed image.
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

void FillLine(const Coefficients& coefficients, const baseline::McuLine& layout, std::uint32_t line,
              std::int16_t* mcus) {
  for (std::uint32_t c = 0; c < coefficients.header.components; ++c) {
    const Component& component = coefficients.header.component[c];
    for (std::uint32_t v = 0; v < component.v && line * component.v + v < component.down; ++v) {
      const std::int16_t* in = coefficients.blocks[c].data() +
                               std::size_t{line * component.v + v} * component.across * DCTSIZE2;
      for (std::uint32_t x = 0; x < component.across; ++x, in += DCTSIZE2) {
        std::int16_t* const block = mcus + layout.PlaceOf(c, x, v);
        for (std::size_t i = 0; i < DCTSIZE2; ++i)
          block[i] = in[kernels::kZigzag.natural[i]];
      }
    }
  }
  layout.FillEdges(line, mcus);
}

}  // namespace

bool BeginCoefficients(const baseline::Header& header, Coefficients& coefficients) {
  coefficients.header = Header{};
  if (!HeaderFromBaseline(header, coefficients.header)) return false;
  SizeComponents(coefficients);
  return true;
}

Taken ReadCoefficients(Bytes jpeg, baseline::BlockReader& reader, Coefficients& coefficients,
                       std::string& why) {
  if (TakeBaseline(jpeg, reader, coefficients)) return Taken::kYes;
  coefficients.header = Header{};
  libjpeg::Decompressor reading;
  jpeg_decompress_struct& object = reading.object;
  // An error in libjpeg jumps back to here. Only `reading` and parameters are used after it.
  if (setjmp(reading.trap.jump) != 0) {
    why = reading.trap.Sentence();
    return Taken::kBroken;
  }
  libjpeg::ReadHeader(object, jpeg);
  if (!TakeFrameHeader(object, coefficients.header)) return Taken::kNo;
  jvirt_barray_ptr* const arrays = jpeg_read_coefficients(&object);
  if (!libjpeg::HasAllComponents(object)) {
    why = "one of its colour components is missing";
    return Taken::kBroken;
  }
  if (!TakeTables(object, coefficients.header)) return Taken::kNo;
  SizeComponents(coefficients);
  return TakeBlocks(object, arrays, coefficients) ? Taken::kYes : Taken::kNo;
}

Taken ReadCoefficients(Bytes jpeg, Coefficients& coefficients, std::string& why) {
  baseline::BlockReader reader(kernels::Chosen());
  return ReadCoefficients(jpeg, reader, coefficients, why);
}

std::vector<std::byte> WriteJpeg(const Coefficients& coefficients) {
  const Header& header = coefficients.header;
  const auto refuse = [](const char* why) { throw Error(ErrorCode::kCorrupt, why); };
  if (std::max(header.width, header.height) > kMaxJpegSide) refuse("is too large for libjpeg");
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const std::vector<std::int16_t>& blocks = coefficients.blocks[c];
    for (std::size_t i = 0; i < blocks.size(); i += DCTSIZE2) {
      if (!HasCodes(blocks.data() + i)) refuse(kWithoutCodes);
    }
  }
  const baseline::Header to = HeaderOf(header);
  const baseline::McuLine layout(to);
  baseline::FileWriter file(kernels::Chosen(), to);
  std::vector<std::int16_t> mcus(layout.values());
  for (std::uint32_t line = 0; line < to.mcus_down; ++line) {
    FillLine(coefficients, layout, line, mcus.data());
    file.Add(mcus.data());
  }
  return file.Finish();
}

namespace {

constexpr std::uint8_t kEscape = 8;  // a 4-bit value that stands for the next byte

void AppendPart(std::vector<std::byte>& out, const std::vector<std::uint8_t>& part,
                std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(part)).first(size);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Makes the parts of a packed line. Keeps its memory from line to line.
class LineParts {
 public:
  // Appends the line's `across` blocks to `out`.
  void Append(const std::int16_t* blocks, std::uint32_t across, std::vector<std::byte>& out);

 private:
  void AddBlock(std::uint32_t x, std::uint64_t places, const std::int16_t* block);
  void AddLarge(std::uint32_t x, unsigned place, int high);
  void PackValues();

  std::vector<std::uint64_t> places_;  // by block: a bit for each coefficient that is not zero
  std::vector<std::uint8_t> line_flags_, dc_, masks_, values_, nibbles_, escapes_, large_;
  std::size_t mask_count_ = 0, value_count_ = 0, escape_count_ = 0;
};

void LineParts::AddLarge(std::uint32_t x, unsigned place, int high) {
  for (const unsigned byte : {x & 255U, x >> 8, place, static_cast<unsigned>(high)})
    large_.push_back(static_cast<std::uint8_t>(byte));
}

void LineParts::AddBlock(std::uint32_t x, std::uint64_t places, const std::int16_t* block) {
  const auto first = static_cast<std::uint16_t>(block[0]);
  dc_[2 * std::size_t{x}] = static_cast<std::uint8_t>(first);
  dc_[2 * std::size_t{x} + 1] = static_cast<std::uint8_t>(first >> 8);
  places &= ~std::uint64_t{1};
  unsigned lines = 0;
  for (unsigned v = 0; v < 8; ++v) {
    const auto mask = static_cast<std::uint8_t>(places >> v * 8);
    const unsigned any = mask != 0 ? 1 : 0;
    masks_[mask_count_] = mask;  // overwritten if it is 0
    mask_count_ += any;
    lines |= any << v;
  }
  line_flags_[x] = static_cast<std::uint8_t>(lines);
  for (; places != 0; places &= places - 1) {
    const auto place = static_cast<unsigned>(std::countr_zero(places));
    const std::int16_t value = block[place];
    const auto low = static_cast<std::int8_t>(value);
    values_[value_count_++] = static_cast<std::uint8_t>(low);
    if (low != value) AddLarge(x, place, (value - low) / 256);
  }
}

// Two values to a byte. A value of -7..7 fits; 8 marks an escape, whose value is a byte of its own.
void LineParts::PackValues() {
  values_[value_count_] = 0;  // for the last byte, if the number of values is odd
  const auto nibble_of = [this](std::uint8_t value) {
    const bool fits = static_cast<std::uint8_t>(value + 7) <= 14;  // -7..7
    escapes_[escape_count_] = value;                               // overwritten if it fits
    escape_count_ += fits ? 0 : 1;
    return fits ? value & 15U : unsigned{kEscape};
  };
  for (std::size_t i = 0; i < value_count_; i += 2) {
    const unsigned low = nibble_of(values_[i]);
    nibbles_[i / 2] = static_cast<std::uint8_t>(low | nibble_of(values_[i + 1]) << 4);
  }
}

void LineParts::Append(const std::int16_t* blocks, std::uint32_t across,
                       std::vector<std::byte>& out) {
  constexpr std::size_t kMaxValues = 63;  // of a block
  places_.resize(across);
  line_flags_.resize(across);
  dc_.resize(std::size_t{across} * 2);
  masks_.resize(std::size_t{across} * 8 + 1);
  // The largest sizes, and one more where the code writes before it knows whether the place counts.
  values_.resize(across * kMaxValues + 1);
  nibbles_.resize(across * kMaxValues / 2 + 1);
  escapes_.resize(across * kMaxValues + 2);
  large_.clear();
  mask_count_ = value_count_ = escape_count_ = 0;
  kernels::Chosen().find_values(blocks, across, places_.data());
  for (std::uint32_t x = 0; x < across; ++x, blocks += 64)
    AddBlock(x, places_[x], blocks);
  PackValues();
  const auto count = static_cast<std::uint32_t>(large_.size() / kLargeBytes);
  const Bytes header = std::as_bytes(std::span(&count, 1));
  out.insert(out.end(), header.begin(), header.end());
  AppendPart(out, line_flags_, line_flags_.size());
  AppendPart(out, dc_, dc_.size());
  AppendPart(out, masks_, mask_count_);
  AppendPart(out, nibbles_, (value_count_ + 1) / 2);
  AppendPart(out, escapes_, escape_count_);
  AppendPart(out, large_, large_.size());
}

std::vector<std::byte> HeaderBytes(const Header& header) {
  std::vector<std::byte> out(header.lines_offset());
  const auto set = [&out](std::size_t at, auto value) { StoreAt(std::span(out), at, value); };
  set(0, kForm);
  set(1, static_cast<std::uint8_t>(header.components));
  set(2, static_cast<std::uint8_t>(header.component[0].h << 4 | header.component[0].v));
  set(3, static_cast<std::uint8_t>(header.tables));
  set(4, static_cast<std::uint16_t>(header.width));
  set(6, static_cast<std::uint16_t>(header.height));
  for (std::uint32_t c = 0; c < header.components; ++c)
    set(8 + c, header.component[c].table);
  set(11, header.density_unit);
  set(12, header.density_x);
  set(14, header.density_y);
  set(16, header.jfif_major);
  set(17, header.jfif_minor);
  set(18, header.restart_interval);
  for (std::uint32_t t = 0; t < header.tables; ++t) {
    const Bytes steps = std::as_bytes(std::span(header.table[t]));
    const std::span<std::byte> table = std::span(out).subspan(kHeaderBytes + t * kTableBytes);
    std::copy(steps.begin(), steps.end(), table.begin());
  }
  return out;
}

// Reads a line's parts front to back. Checks that each lies inside before it is taken.
class LineReader {
 public:
  explicit LineReader(Bytes line) noexcept : left_(line) {}
  bool Take(std::size_t size, Bytes& part) noexcept {
    if (size > left_.size()) return false;
    part = left_.first(size);
    left_ = left_.subspan(size);
    return true;
  }
  bool TakeLast(std::size_t size, Bytes& part) noexcept {
    if (size > left_.size()) return false;
    part = left_.last(size);
    left_ = left_.first(left_.size() - size);
    return true;
  }
  Bytes left() const noexcept { return left_; }

 private:
  Bytes left_;
};

// Two's complement.
std::int16_t SignedByte(std::byte byte) noexcept {
  const int value = std::to_integer<int>(byte);
  return static_cast<std::int16_t>(value < 128 ? value : value - 256);
}

std::size_t CountOnes(Bytes bytes) noexcept {
  std::size_t count = 0;
  for (const std::byte byte : bytes)
    count += static_cast<std::size_t>(std::popcount(static_cast<std::uint8_t>(byte)));
  return count;
}

// Unpacks nibbles and escapes. False if a value has no escape byte, or another encoding than
// packing gives it, or if bytes are left over.
bool TakeValues(Bytes packed, std::size_t count, Bytes escapes, std::vector<std::int16_t>& values) {
  values.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned nibble = (static_cast<unsigned>(packed[i / 2]) >> (i % 2 * 4)) & 15U;
    if (nibble != kEscape) {
      values[i] = static_cast<std::int16_t>(nibble > 8 ? int(nibble) - 16 : int(nibble));
      continue;
    }
    if (escapes.empty()) return false;
    values[i] = SignedByte(escapes[0]);
    if (values[i] >= -7 && values[i] <= 7) return false;  // it has one encoding only
    escapes = escapes.subspan(1);
  }
  const bool odd = count % 2 != 0;
  return escapes.empty() && (!odd || static_cast<unsigned>(packed.back()) >> 4 == 0);
}

// Adds the high bytes of the list of large coefficients. The list must be in order and name only
// coefficients that have a value.
bool ApplyLarge(Bytes list, const std::vector<std::uint64_t>& masks,
                std::span<std::int16_t> blocks) {
  std::int64_t last = -1;
  for (std::size_t at = 0; at < list.size(); at += kLargeBytes) {
    const std::size_t block = LoadAt<std::uint16_t>(list, at);
    const auto place = static_cast<std::size_t>(list[at + 2]);
    const int high = SignedByte(list[at + 3]);
    if (place == 0 || place > 63 || high == 0) return false;
    const std::size_t index = block * 64 + place;
    if (static_cast<std::int64_t>(index) <= last || index >= blocks.size() ||
        (masks[block] >> place & 1) == 0) {
      return false;
    }
    last = static_cast<std::int64_t>(index);
    blocks[index] = static_cast<std::int16_t>(blocks[index] + high * 256);
  }
  return true;
}

bool UnpackLine(Bytes bytes, std::uint32_t across, std::vector<std::int16_t>& values,
                std::span<std::int16_t> blocks) {
  LineReader in(bytes);
  Bytes header, large, lines, dc, masks, packed;
  if (!in.Take(kLineHeaderBytes, header)) return false;
  // The list of large values has a known length and comes last. The escapes lie before it and take
  // what is left.
  if (!in.TakeLast(std::size_t{LoadAt<std::uint32_t>(header, 0)} * kLargeBytes, large) ||
      !in.Take(across, lines) || !in.Take(std::size_t{across} * 2, dc) ||
      !in.Take(CountOnes(lines), masks)) {
    return false;
  }
  const std::size_t count = CountOnes(masks);
  if (!in.Take((count + 1) / 2, packed) || !TakeValues(packed, count, in.left(), values)) {
    return false;
  }
  auto mask = masks.begin();
  auto value = values.begin();
  std::vector<std::uint64_t> block_masks(across);
  // The places of values whose low byte is 0. Such a value is allowed only if ApplyLarge() adds a
  // high byte.
  std::vector<std::size_t> zeros;
  for (std::size_t x = 0; x < across; ++x) {
    blocks[x * 64] = LoadAt<std::int16_t>(dc, x * 2);
    for (unsigned v = 0; v < 8; ++v) {
      if ((static_cast<unsigned>(lines[x]) >> v & 1) == 0) continue;
      const auto places = static_cast<unsigned>(*mask++);
      block_masks[x] |= std::uint64_t{places} << v * 8;
      if (places == 0 || (v == 0 && (places & 1) != 0)) return false;
      for (unsigned left = places; left != 0; left &= left - 1) {
        const auto u = static_cast<unsigned>(std::countr_zero(left));
        const std::size_t index = x * 64 + std::size_t{v} * 8 + u;
        if (*value == 0) zeros.push_back(index);
        blocks[index] = *value++;
      }
    }
  }
  if (!ApplyLarge(large, block_masks, blocks)) return false;
  return std::ranges::none_of(zeros, [&](std::size_t index) { return blocks[index] == 0; });
}

}  // namespace

std::vector<std::byte> Pack(const Coefficients& coefficients) {
  const Header& header = coefficients.header;
  std::vector<std::byte> out = HeaderBytes(header);
  // An entry is where its line ends, so the first needs no entry for its beginning.
  std::size_t entry = header.directory_offset();
  LineParts parts;
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const Component& component = header.component[c];
    const std::int16_t* block = coefficients.blocks[c].data();
    for (std::uint32_t y = 0; y < component.down; ++y) {
      parts.Append(block, component.across, out);
      block += std::size_t{component.across} * 64;
      StoreAt(std::span(out), entry, static_cast<std::uint32_t>(out.size()));
      entry += sizeof(std::uint32_t);
    }
  }
  out.resize(out.size() + kEndBytes);
  return out;
}

Defect Unpack(Bytes payload, Coefficients& coefficients) {
  Header& header = coefficients.header;
  header = Header{};
  if (const Defect defect = ParseHeader(payload, header)) return defect;
  for (std::uint32_t t = 0; t < header.tables; ++t) {
    if (std::count(std::begin(header.table[t]), std::end(header.table[t]), 0) != 0) {
      return "a quantisation step of the packed image is zero";
    }
  }
  if (!AllZero(payload.subspan(20, 4))) return "reserved bytes of the packed image are not zero";
  if (payload.size() - kEndBytes !=
          LoadAt<std::uint32_t>(payload, header.lines_offset() - sizeof(std::uint32_t)) ||
      !AllZero(payload.last(kEndBytes))) {
    return "the packed image does not end where its rows do";
  }
  std::vector<std::int16_t> values;
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const Component& component = header.component[c];
    const std::size_t line_size = std::size_t{component.across} * 64;
    coefficients.blocks[c].assign(line_size * component.down, 0);
    for (std::uint32_t y = 0; y < component.down; ++y) {
      const std::span<std::int16_t> blocks =
          std::span(coefficients.blocks[c]).subspan(y * line_size, line_size);
      if (!UnpackLine(LineOf(payload, header, component.first_line + y), component.across, values,
                      blocks)) {
        return "a row of the packed image contradicts itself";
      }
      for (std::uint32_t x = 0; x < component.across; ++x) {
        if (!HasCodes(blocks.data() + std::size_t{x} * DCTSIZE2)) return kWithoutCodes;
      }
    }
  }
  return nullptr;
}

}  // namespace sluice::packed
