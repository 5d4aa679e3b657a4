// A payload of codec `packed`: a JPEG's quantised coefficients, laid out so that vector
// instructions unpack them, any row of blocks and any part of it apart from the others. FORMAT.md,
// "Packed".
#pragma once

#include <cstdint>

#include "format/disk/block.h"
#include "format/disk/bytes.h"

namespace sluice::packed {

inline constexpr std::uint8_t kForm = 1;  // of layout; the only one so far
inline constexpr std::size_t kHeaderBytes = 24;
inline constexpr std::size_t kTableBytes = 64;
// Zeros at a payload's end, so that reading a vector at any place of a row stays inside.
inline constexpr std::size_t kEndBytes = 16;

// What a row begins with: the number of its large coefficients.
inline constexpr std::size_t kRowHeaderBytes = 4;
// A coefficient that has no place in 8 bits: block (16), place in it (8), what is to be added to it
// in units of 256 (8).
inline constexpr std::size_t kLargeBytes = 4;

struct Component {
  std::uint8_t h = 1, v = 1;            // sampling factors
  std::uint8_t table = 0;               // of its quantisation
  std::uint32_t width = 0, height = 0;  // in samples
  std::uint32_t across = 0, down = 0;   // in blocks
  std::uint32_t first_row = 0;          // of its rows of blocks among those of all components
};

struct Header {
  std::uint32_t width = 0, height = 0;
  std::uint32_t components = 0;  // 1 or 3
  Component component[3];
  std::uint32_t max_h = 1, max_v = 1;
  std::uint32_t tables = 0;
  std::uint8_t table[3][64] = {};  // quantisation steps, natural order
  // What pixels do not depend on, and a JPEG file made of the payload does.
  std::uint8_t density_unit = 0, jfif_major = 1, jfif_minor = 1;
  std::uint16_t density_x = 1, density_y = 1;
  std::uint16_t restart_interval = 0;  // MCUs

  std::uint32_t rows() const noexcept {
    const Component& last = component[components - 1];
    return last.first_row + last.down;
  }
  std::size_t directory_offset() const noexcept { return kHeaderBytes + tables * kTableBytes; }
  std::size_t rows_offset() const noexcept {
    return directory_offset() + std::size_t{rows()} * sizeof(std::uint32_t);
  }
};

// Fills in what follows from the sizes, the number of components and component[0]'s factors.
void LayOut(Header& header) noexcept;

// A payload's header, checked against itself and the payload's size; the rows are not looked
// at.
Defect ParseHeader(Bytes payload, Header& header) noexcept;

// Row `row` of all of them; empty where the directory contradicts itself. After ParseHeader().
Bytes RowOf(Bytes payload, const Header& header, std::uint32_t row) noexcept;

}  // namespace sluice::packed
