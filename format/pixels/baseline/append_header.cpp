#include <algorithm>

#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/standard_tables.h"
#include "format/pixels/kernels/zigzag.h"

namespace sluice::baseline {

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
  // As libjpeg has it, which copies no other version than 1.
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
