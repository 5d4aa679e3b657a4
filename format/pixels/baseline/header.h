// Parses and writes the header of a baseline JPEG: everything up to the first entropy-coded byte.
//
// Accepts only what the decoder in this folder can decode: baseline or extended sequential Huffman
// coding, 8 bits, grey or Y Cb Cr in one interleaved scan, chroma at full size or halved in one or
// both directions. Any other file is not an error: libjpeg decodes it.
#pragma once

#include <cstdint>
#include <vector>

#include "format/disk/bytes.h"
#include "format/pixels/baseline/huffman.h"

namespace sluice::baseline {

struct Component {
  std::uint8_t h = 1, v = 1;               // sampling factors
  std::uint8_t quant = 0, dc = 0, ac = 0;  // numbers of its tables
  std::uint8_t id = 0;
  std::uint32_t width = 0, height = 0;  // of its plane, in samples
};

struct Header {
  std::uint32_t width = 0, height = 0;
  std::uint32_t components = 0;  // 1 or 3
  Component component[3];
  std::uint32_t max_h = 1, max_v = 1;
  std::uint32_t mcus_across = 0, mcus_down = 0;
  std::uint32_t restart_interval = 0;  // MCUs; 0: none
  bool quant_set[4] = {};
  std::int16_t quant[4][64] = {};  // natural order
  bool huffman_set[2][4] = {};     // [0] DC, [1] AC
  HuffmanSpec huffman[2][4];
  Bytes scan;  // from the first entropy-coded byte to the file's end
  // Pixels do not depend on these (JFIF 1.02, Annex B).
  std::uint8_t jfif_major = 1, jfif_minor = 1, density_unit = 0;
  std::uint16_t density_x = 1, density_y = 1;
};

// Derives the numbers that follow from the picture's size and its components' sampling factors.
void DeriveSizes(Header& header) noexcept;

// The restart interval that puts a marker after every line of MCUs. A wide row is cut into equal
// parts of 256 pixels or more, if its number of MCUs can be divided: a decoder then leaves out most
// of what lies beside a crop. Widths are in pixels.
std::uint32_t RestartInterval(std::uint32_t width, std::uint32_t mcu_width) noexcept;

// False if libjpeg must decode the file.
bool ParseHeader(Bytes file, Header& header) noexcept;

// Appends the header, with the standard's Huffman tables: 0 for the first component, 1 for the
// others. The markers are those that libjpeg writes, in its order.
void AppendHeader(const Header& header, std::vector<std::byte>& file);

// Whether the scan can hold the picture at all: every block takes at least two bits. Ask this
// before memory is taken for the picture.
bool HoldsPicture(const Header& header) noexcept;

}  // namespace sluice::baseline
