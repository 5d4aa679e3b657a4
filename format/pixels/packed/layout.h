// A payload of codec `packed`: a JPEG's quantised coefficients, laid out so that vector
// instructions can unpack them, and so that each line of blocks, or a part of a line, can be
// unpacked without the others. FORMAT.md, "Packed".
#pragma once

#include <cstdint>

#include "format/disk/block.h"
#include "format/disk/bytes.h"

namespace sluice::packed {

inline constexpr std::uint8_t kForm = 1;  // the form of the layout; there is only one so far
inline constexpr std::size_t kHeaderBytes = 24;
inline constexpr std::size_t kTableBytes = 64;
// Zeros at a payload's end, so that a vector read at any place of a line stays inside.
inline constexpr std::size_t kEndBytes = 16;

// A line begins with the number of its large coefficients.
inline constexpr std::size_t kLineHeaderBytes = 4;
// The entry of a coefficient that does not fit into 8 bits: its block (16 bits), its place in the
// block (8 bits), and the amount to add, in units of 256 (8 bits).
inline constexpr std::size_t kLargeBytes = 4;

struct Component {
  std::uint8_t h = 1, v = 1;            // sampling factors
  std::uint8_t table = 0;               // number of its quantisation table
  std::uint32_t width = 0, height = 0;  // in samples
  std::uint32_t across = 0, down = 0;   // in blocks
  std::uint32_t first_line = 0;  // its first line of blocks among the lines of all components
};

struct Header {
  std::uint32_t width = 0, height = 0;
  std::uint32_t components = 0;  // 1 or 3
  Component component[3];
  std::uint32_t max_h = 1, max_v = 1;
  std::uint32_t tables = 0;
  std::uint8_t table[3][64] = {};  // quantisation steps, natural order
  // Pixels do not depend on these, but a JPEG file made from the payload does.
  std::uint8_t density_unit = 0, jfif_major = 1, jfif_minor = 1;
  std::uint16_t density_x = 1, density_y = 1;
  std::uint16_t restart_interval = 0;  // MCUs

  std::uint32_t lines() const noexcept {
    const Component& last = component[components - 1];
    return last.first_line + last.down;
  }
  std::size_t directory_offset() const noexcept { return kHeaderBytes + tables * kTableBytes; }
  std::size_t lines_offset() const noexcept {
    return directory_offset() + std::size_t{lines()} * sizeof(std::uint32_t);
  }
};

// Fills in the members that follow from the sizes, the number of components and component[0]'s
// factors.
void LayOut(Header& header) noexcept;

// Parses a payload's header and checks it against itself and the payload's size. Does not look at
// the lines.
Defect ParseHeader(Bytes payload, Header& header) noexcept;

// Line `line`, counted over all components; empty if the directory contradicts itself. Call it
// after ParseHeader().
Bytes LineOf(Bytes payload, const Header& header, std::uint32_t line) noexcept;

}  // namespace sluice::packed
