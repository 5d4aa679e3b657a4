// Decodes a JPEG file with libjpeg, for comparison: its components before any upsampling.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

struct ReferencePlane {
  std::uint32_t width = 0, height = 0;
  std::size_t stride = 0;
  std::vector<std::uint8_t> samples;  // row by row
};

struct Reference {
  bool taken = false;  // decoded without a warning that pixels were made up
  std::string why;     // the reason if it was not decoded
  bool ycc_or_grey = false;
  std::vector<ReferencePlane> planes;
};

// Uses the accurate integer transform, on the whole picture at full size.
Reference DecodeByLibjpeg(Bytes file);

// Whether all compared decoders must give the same samples for a block. For coefficients in a
// picture's range they always do. Beyond it, the answer depends on the code that this libjpeg runs.
// Its vector code for x86 multiplies and adds modulo 2^16; in blocks in which only the first row is
// not zero, it also doubles modulo 2^16. Its vector code for other CPUs saturates samples, and its
// plain code wraps them modulo 1024.
// `coefficients` and `quant` are in natural order.
bool SamplesAreDefined(const std::int16_t* coefficients, const std::uint16_t* quant);

}  // namespace sluice::fuzz
