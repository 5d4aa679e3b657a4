// A JPEG's coefficients without any coding: read from JPEG files and packed payloads, and written
// to either.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/packed/layout.h"

namespace sluice::packed {

// `header` is complete (LayOut()). Each component has the blocks that hold pixels, line by line,
// each with 64 coefficients in natural order.
struct Coefficients {
  Header header;
  std::vector<std::int16_t> blocks[3];
};

// The range that baseline JPEG has codes for.
inline constexpr int kLeastDc = -1024, kMaxDc = 1023;
inline constexpr int kMaxAc = 1023;  // the least is its negative

enum class Taken {
  kYes,
  kNo,      // other colours, sampling or sizes than a packed image has
  kBroken,  // `why` says what is wrong with the file
};
// Reads any Huffman or arithmetic coded JPEG, progressive ones as well. Ignores orientation and
// other metadata.
Taken ReadCoefficients(Bytes jpeg, Coefficients& coefficients, std::string& why);
// Like the function above, with a reader that keeps its memory from file to file.
Taken ReadCoefficients(Bytes jpeg, baseline::BlockReader& reader, Coefficients& coefficients,
                       std::string& why);

// Fills in the header that a packed image has for a baseline JPEG with that header, and makes room
// for its blocks. False if a packed image cannot hold it.
bool BeginCoefficients(const baseline::Header& header, Coefficients& coefficients);

// A baseline JPEG file with the standard Huffman tables and the header's restart interval. If the
// coefficients were read from a file that a conversion wrote, the same bytes as that file. Throws
// Error(kCorrupt) for coefficients that no JPEG has, and for a picture too large for libjpeg.
std::vector<std::byte> WriteJpeg(const Coefficients& coefficients);

std::vector<std::byte> Pack(const Coefficients& coefficients);

// Unpacks all of a payload's coefficients and checks every rule of FORMAT.md, "Packed". Returns
// null, or what is wrong.
Defect Unpack(Bytes payload, Coefficients& coefficients);

}  // namespace sluice::packed
