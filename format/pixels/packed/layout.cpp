// A payload's header is parsed in an order that matters: the numbers that sizes depend on are
// checked before LayOut() computes sizes from them, and the payload must be long enough for so many
// blocks before anybody allocates memory for the picture.
// The directory holds where each line ends; a line begins where the one before it ends. LineOf()
// checks the line that it returns, and no other.
#include "format/pixels/packed/layout.h"

namespace sluice::packed {

namespace {

constexpr Defect kTooShort = "the packed image is too short for its size";

// The part of a payload before its directory.
Defect ParseSizes(Bytes payload, Header& header) noexcept {
  if (payload.size() < kHeaderBytes) return "the packed image is shorter than its header";
  const auto byte = [payload](std::size_t at) { return static_cast<std::uint8_t>(payload[at]); };
  if (byte(0) != kForm) return "the packed image has a form that this version does not know";
  header.components = byte(1);
  Component& first = header.component[0];
  first.h = byte(2) >> 4;
  first.v = byte(2) & 15;
  header.tables = byte(3);
  header.width = LoadAt<std::uint16_t>(payload, 4);
  header.height = LoadAt<std::uint16_t>(payload, 6);
  header.density_unit = byte(11);
  header.density_x = LoadAt<std::uint16_t>(payload, 12);
  header.density_y = LoadAt<std::uint16_t>(payload, 14);
  header.jfif_major = byte(16);
  header.jfif_minor = byte(17);
  header.restart_interval = LoadAt<std::uint16_t>(payload, 18);
  const bool grey = header.components == 1;
  if ((!grey && header.components != 3) || first.h < 1 || first.h > 2 || first.v < 1 ||
      first.v > 2 || (grey && first.h * first.v != 1)) {
    return "the packed image has components that this version does not know";
  }
  if (header.tables < 1 || header.tables > header.components) {
    return "the packed image has too few or too many quantisation tables";
  }
  if (header.width == 0 || header.height == 0) return "the packed image has no pixels";
  LayOut(header);
  for (std::uint32_t c = 0; c < 3; ++c) {
    header.component[c].table = byte(8 + c);
    const std::uint32_t tables = c < header.components ? header.tables : 1;
    if (header.component[c].table >= tables) {
      return "a component of the packed image has no quantisation table";
    }
  }
  return payload.size() < header.directory_offset() ? kTooShort : nullptr;
}

std::uint64_t BlocksOf(const Header& header) noexcept {
  std::uint64_t blocks = 0;
  for (std::uint32_t c = 0; c < header.components; ++c)
    blocks += std::uint64_t{header.component[c].across} * header.component[c].down;
  return blocks;
}

}  // namespace

void LayOut(Header& header) noexcept {
  for (std::uint32_t c = 1; c < header.components; ++c)
    header.component[c].h = header.component[c].v = 1;
  header.max_h = header.component[0].h;
  header.max_v = header.component[0].v;
  std::uint32_t line = 0;
  for (std::uint32_t c = 0; c < header.components; ++c) {
    Component& component = header.component[c];
    component.width = (header.width * component.h + header.max_h - 1) / header.max_h;
    component.height = (header.height * component.v + header.max_v - 1) / header.max_v;
    component.across = (component.width + 7) / 8;
    component.down = (component.height + 7) / 8;
    component.first_line = line;
    line += component.down;
  }
}

Defect ParseHeader(Bytes payload, Header& header) noexcept {
  if (const Defect defect = ParseSizes(payload, header)) return defect;
  // Every block takes at least three bytes: allocate nothing if the payload is too short to hold
  // the picture.
  const std::uint64_t least = header.lines_offset() +
                              header.lines() * std::uint64_t{kLineHeaderBytes} +
                              BlocksOf(header) * 3 + kEndBytes;
  if (payload.size() < least) return kTooShort;
  for (std::uint32_t t = 0; t < header.tables; ++t) {
    for (std::size_t i = 0; i < kTableBytes; ++i)
      header.table[t][i] = static_cast<std::uint8_t>(payload[kHeaderBytes + t * kTableBytes + i]);
  }
  return nullptr;
}

Bytes LineOf(Bytes payload, const Header& header, std::uint32_t line) noexcept {
  const std::size_t entry = header.directory_offset() + line * sizeof(std::uint32_t);
  const std::size_t begin = line == 0
                                ? header.lines_offset()
                                : LoadAt<std::uint32_t>(payload, entry - sizeof(std::uint32_t));
  const std::size_t end = LoadAt<std::uint32_t>(payload, entry);
  if (begin < header.lines_offset() || end < begin || end > payload.size() - kEndBytes) return {};
  return payload.subspan(begin, end - begin);
}

}  // namespace sluice::packed
