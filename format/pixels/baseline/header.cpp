// The segments are parsed in the file's order; the scan's header comes last and requires all that
// it refers to. False does not mean that a file is broken, only that libjpeg must decode it: so a
// check may be stricter than the standard. IsYCbCr() follows libjpeg's rule, so that a file has the
// same colours with either decoder.
// A Header may be used for many files: ParseHeader() clears the flags that say which tables are
// set, but not the tables. Reads beyond a segment's end give zeros, so each parser asks once, at
// its end, whether the segment was cut short.
// AppendHeader() writes the standard's Huffman tables, never those in Header::huffman.
#include "format/pixels/baseline/header.h"

#include <algorithm>
#include <iterator>

#include "format/pixels/baseline/huffman.h"
#include "format/pixels/kernels/tables.h"

namespace sluice::baseline {

namespace {

// Figure A.6 of T.81: the natural index of each coefficient in zigzag order.
constexpr std::uint8_t kZigzag[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// Reads big-endian numbers from a segment. Reads beyond the end give zeros and are remembered.
class SegmentReader {
 public:
  explicit SegmentReader(Bytes bytes) noexcept : bytes_(bytes) {}
  std::uint32_t Byte() noexcept {
    if (at_ == bytes_.size()) {
      short_ = true;
      return 0;
    }
    return static_cast<std::uint32_t>(bytes_[at_++]);
  }
  std::uint32_t Word() noexcept {
    const std::uint32_t high = Byte();
    return high << 8 | Byte();
  }
  bool done() const noexcept { return at_ == bytes_.size(); }
  bool cut_short() const noexcept { return short_; }

 private:
  Bytes bytes_;
  std::size_t at_ = 0;
  bool short_ = false;
};

bool ParseQuantisation(SegmentReader in, Header& header) noexcept {
  while (!in.done()) {
    const std::uint32_t kind = in.Byte();
    const std::uint32_t number = kind & 15;
    if (kind >> 4 != 0 || number > 3) return false;  // 16-bit tables come with 12-bit samples
    for (const std::uint8_t natural : kZigzag) {
      header.quant[number][natural] = static_cast<std::int16_t>(in.Byte());
    }
    header.quant_set[number] = true;
  }
  return !in.cut_short();
}

bool ParseHuffman(SegmentReader in, Header& header) noexcept {
  while (!in.done()) {
    const std::uint32_t kind = in.Byte();
    if (kind >> 4 > 1 || (kind & 15) > 3) return false;
    HuffmanSpec& spec = header.huffman[kind >> 4][kind & 15];
    spec = {};
    for (std::uint8_t& count : spec.counts) {
      count = static_cast<std::uint8_t>(in.Byte());
      spec.symbol_count += count;
    }
    if (spec.symbol_count > 256) return false;
    for (std::uint32_t i = 0; i < spec.symbol_count; ++i) {
      spec.symbols[i] = static_cast<std::uint8_t>(in.Byte());
    }
    header.huffman_set[kind >> 4][kind & 15] = true;
  }
  return !in.cut_short();
}

bool ParseFrame(SegmentReader in, Header& header, std::uint8_t* ids) noexcept {
  if (header.components != 0 || in.Byte() != 8) return false;
  header.height = in.Word();
  header.width = in.Word();
  header.components = in.Byte();
  if (header.width == 0 || header.height == 0)
    return false;  // the height may follow: left to libjpeg
  if (header.components != 1 && header.components != 3) return false;
  for (std::uint32_t c = 0; c < header.components; ++c) {
    Component& component = header.component[c];
    component.id = ids[c] = static_cast<std::uint8_t>(in.Byte());
    const std::uint32_t sampling = in.Byte();
    component.h = static_cast<std::uint8_t>(sampling >> 4);
    component.v = static_cast<std::uint8_t>(sampling & 15);
    component.quant = static_cast<std::uint8_t>(in.Byte());
    if (component.h < 1 || component.h > 4 || component.v < 1 || component.v > 4 ||
        component.quant > 3) {
      return false;
    }
  }
  if (header.components == 1) {
    // The sampling factors of a single component have no effect: its blocks follow one another
    // (A.2.2).
    header.component[0].h = header.component[0].v = 1;
  } else {
    const Component* const c = header.component;
    if (c[0].h > 2 || c[0].v > 2 || c[1].h != 1 || c[1].v != 1 || c[2].h != 1 || c[2].v != 1) {
      return false;
    }
  }
  DeriveSizes(header);
  return in.done() && !in.cut_short();
}

bool ParseScan(SegmentReader in, Header& header, const std::uint8_t* ids) noexcept {
  if (header.components == 0 || in.Byte() != header.components) return false;
  for (std::uint32_t c = 0; c < header.components; ++c) {
    Component& component = header.component[c];
    if (in.Byte() != ids[c]) return false;
    const std::uint32_t tables = in.Byte();
    component.dc = static_cast<std::uint8_t>(tables >> 4);
    component.ac = static_cast<std::uint8_t>(tables & 15);
    if (component.dc > 3 || component.ac > 3 || !header.huffman_set[0][component.dc] ||
        !header.huffman_set[1][component.ac] || !header.quant_set[component.quant]) {
      return false;
    }
  }
  const bool sequential = in.Byte() == 0 && in.Byte() == 63 && in.Byte() == 0;
  return sequential && in.done() && !in.cut_short();
}

// The markers that tell libjpeg a file's colours.
struct ColourMarkers {
  bool jfif = false;
  bool adobe = false;
  std::uint8_t adobe_transform = 0;
};

bool StartsWith(Bytes bytes, std::string_view text) noexcept {
  return bytes.size() >= text.size() && AsText(bytes.first(text.size())) == text;
}

// The rule of libjpeg's default_decompress_parms for three components.
bool IsYCbCr(const ColourMarkers& markers, const std::uint8_t* ids) noexcept {
  if (markers.jfif) return true;
  if (markers.adobe) return markers.adobe_transform != 0;
  return !(ids[0] == 'R' && ids[1] == 'G' && ids[2] == 'B');
}

void TakeJfif(Bytes segment, ColourMarkers& markers, Header& header) noexcept {
  if (!StartsWith(segment, std::string_view("JFIF\0", 5)) || segment.size() < 14) return;
  markers.jfif = true;
  SegmentReader in(segment.subspan(5));
  header.jfif_major = static_cast<std::uint8_t>(in.Byte());
  header.jfif_minor = static_cast<std::uint8_t>(in.Byte());
  header.density_unit = static_cast<std::uint8_t>(in.Byte());
  header.density_x = static_cast<std::uint16_t>(in.Word());
  header.density_y = static_cast<std::uint16_t>(in.Word());
}

}  // namespace

void DeriveSizes(Header& header) noexcept {
  header.max_h = header.component[0].h;
  header.max_v = header.component[0].v;
  header.mcus_across = (header.width + 8 * header.max_h - 1) / (8 * header.max_h);
  header.mcus_down = (header.height + 8 * header.max_v - 1) / (8 * header.max_v);
  for (std::uint32_t i = 0; i < header.components; ++i) {
    Component& component = header.component[i];
    component.width = (header.width * component.h + header.max_h - 1) / header.max_h;
    component.height = (header.height * component.v + header.max_v - 1) / header.max_v;
  }
}

std::uint32_t RestartInterval(std::uint32_t width, std::uint32_t mcu_width) noexcept {
  constexpr std::uint32_t kPart = 256;
  const std::uint32_t mcus_across = (width + mcu_width - 1) / mcu_width;
  std::uint32_t parts = std::max(width / kPart, 1U);
  while (mcus_across % parts != 0)
    --parts;
  return mcus_across / parts;
}

bool HoldsPicture(const Header& header) noexcept {
  std::uint64_t blocks = 0;  // of an MCU
  for (std::uint32_t c = 0; c < header.components; ++c)
    blocks += std::uint64_t{header.component[c].h} * header.component[c].v;
  return header.scan.size() * 8 >= blocks * header.mcus_across * header.mcus_down * 2;
}

bool ParseHeader(Bytes file, Header& header) noexcept {
  header.components = 0;
  header.restart_interval = 0;
  header.jfif_major = header.jfif_minor = 1;
  header.density_unit = 0;
  header.density_x = header.density_y = 1;
  std::fill(std::begin(header.quant_set), std::end(header.quant_set), false);
  for (auto& kind : header.huffman_set)
    std::fill(std::begin(kind), std::end(kind), false);
  ColourMarkers markers;
  std::uint8_t ids[3] = {};
  std::size_t at = 2;
  if (file.size() < 4 || file[0] != std::byte{0xFF} || file[1] != std::byte{0xD8}) return false;
  for (;;) {
    if (!Inside(at, 4, file.size()) || file[at] != std::byte{0xFF}) return false;
    const auto marker = static_cast<std::uint8_t>(file[at + 1]);
    const std::size_t length =
        static_cast<std::size_t>(file[at + 2]) << 8 | static_cast<std::size_t>(file[at + 3]);
    if (length < 2 || !Inside(at + 2, length, file.size())) return false;
    const Bytes segment = file.subspan(at + 4, length - 2);
    at += 2 + length;
    bool taken = true;
    switch (marker) {
      case 0xC0:  // baseline
      case 0xC1:  // extended sequential, Huffman
        taken = ParseFrame(SegmentReader(segment), header, ids);
        break;
      case 0xC4: taken = ParseHuffman(SegmentReader(segment), header); break;
      case 0xDB: taken = ParseQuantisation(SegmentReader(segment), header); break;
      case 0xDD: {
        SegmentReader in(segment);
        header.restart_interval = in.Word();
        taken = in.done() && !in.cut_short();
        break;
      }
      case 0xDA:
        if (!ParseScan(SegmentReader(segment), header, ids)) return false;
        header.scan = file.subspan(at);
        return header.components == 1 || IsYCbCr(markers, ids);
      case 0xE0: TakeJfif(segment, markers, header); break;
      case 0xEE:
        if (StartsWith(segment, "Adobe") && segment.size() >= 12) {
          markers.adobe = true;
          markers.adobe_transform = static_cast<std::uint8_t>(segment[11]);
        }
        break;
      default:
        // Comments and application data are skipped; other markers change the coding.
        taken = marker == 0xFE || (marker >= 0xE0 && marker <= 0xEF);
    }
    if (!taken) return false;
  }
}

namespace {

// Markers as they are written, with numbers in big-endian order.
class MarkerWriter {
 public:
  explicit MarkerWriter(std::vector<std::byte>& out) : out_(out) {}

  void Byte(std::uint32_t value) { out_.push_back(static_cast<std::byte>(value)); }
  void Word(std::uint32_t value) {
    Byte(value >> 8);
    Byte(value);
  }
  // A marker and the length of what follows it.
  void Begin(std::uint32_t marker, std::uint32_t bytes) {
    Word(0xFF00 | marker);
    Word(2 + bytes);
  }

 private:
  std::vector<std::byte>& out_;
};

void WriteJfif(const Header& header, MarkerWriter& out) {
  out.Begin(0xE0, 14);
  for (const char c : {'J', 'F', 'I', 'F', '\0'})
    out.Byte(static_cast<std::uint8_t>(c));
  // libjpeg copies only versions 1.x, and so does this.
  out.Byte(1);
  out.Byte(header.jfif_major == 1 ? header.jfif_minor : 1);
  out.Byte(header.density_unit);
  out.Word(header.density_x);
  out.Word(header.density_y);
  out.Word(0);  // no thumbnail
}

void WriteSteps(std::uint32_t number, const std::int16_t* steps, MarkerWriter& out) {
  out.Begin(0xDB, 65);
  out.Byte(number);
  for (const std::uint8_t natural : kernels::kZigzag.natural)
    out.Byte(static_cast<std::uint32_t>(steps[natural]));
}

void WriteFrame(const Header& header, MarkerWriter& out) {
  out.Begin(0xC0, 6 + 3 * header.components);
  out.Byte(8);
  out.Word(header.height);
  out.Word(header.width);
  out.Byte(header.components);
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const Component& component = header.component[c];
    out.Byte(component.id);
    out.Byte(std::uint32_t{component.h} << 4 | component.v);
    out.Byte(component.quant);
  }
}

void WriteHuffman(std::uint32_t number, bool ac, MarkerWriter& out) {
  const HuffmanSpec& spec = StandardSpec(number, ac);
  out.Begin(0xC4, 17 + spec.symbol_count);
  out.Byte((ac ? 0x10U : 0U) | number);
  for (const std::uint8_t count : spec.counts)
    out.Byte(count);
  for (std::uint32_t i = 0; i < spec.symbol_count; ++i)
    out.Byte(spec.symbols[i]);
}

void WriteScan(const Header& header, MarkerWriter& out) {
  out.Begin(0xDA, 4 + 2 * header.components);
  out.Byte(header.components);
  for (std::uint32_t c = 0; c < header.components; ++c) {
    out.Byte(header.component[c].id);
    out.Byte(c == 0 ? 0x00 : 0x11);
  }
  out.Byte(0);
  out.Byte(63);
  out.Byte(0);
}

}  // namespace

void AppendHeader(const Header& header, std::vector<std::byte>& file) {
  MarkerWriter out(file);
  out.Word(0xFFD8);
  WriteJfif(header, out);
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const std::uint8_t number = header.component[c].quant;
    const bool again = std::any_of(header.component, header.component + c,
                                   [&](const Component& other) { return other.quant == number; });
    if (!again) WriteSteps(number, header.quant[number], out);
  }
  WriteFrame(header, out);
  for (std::uint32_t number = 0; number < std::min(header.components, 2U); ++number) {
    WriteHuffman(number, false, out);
    WriteHuffman(number, true, out);
  }
  if (header.restart_interval != 0) {
    out.Begin(0xDD, 2);
    out.Word(header.restart_interval);
  }
  WriteScan(header, out);
}

}  // namespace sluice::baseline
