// A JPEG's coefficients outside of any coding: what lies between a JPEG file and a packed payload,
// either way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/pixels/packed/layout.h"

namespace sluice::packed {

// `header` is laid out; of each component the blocks that have pixels, row by row, each 64
// coefficients in natural order.
struct Coefficients {
  Header header;
  std::vector<std::int16_t> blocks[3];
};

// What baseline JPEG has codes for.
inline constexpr int kLeastDc = -1024, kMostDc = 1023;
inline constexpr int kMostAc = 1023;  // and its negative

enum class Taken {
  kYes,
  kNo,      // other colours, sampling or sizes than a packed image has
  kBroken,  // `why` says what is wrong with the file
};
// Any Huffman or arithmetic coded JPEG, progressive ones too. Orientation and other metadata are
// not looked at.
Taken ReadCoefficients(Bytes jpeg, Coefficients& coefficients, std::string& why);

// A baseline JPEG file with the standard Huffman tables and the header's restart interval. Of a
// file that a conversion wrote, the very bytes. Throws Error(kCorrupt) for coefficients that no
// JPEG has.
std::vector<std::byte> WriteJpeg(const Coefficients& coefficients);

}  // namespace sluice::packed
