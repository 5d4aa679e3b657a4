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
// picture's range they always do. Beyond it, libjpeg's vector code multiplies, adds and, in blocks
// with only the first row not zero, doubles modulo 2^16, while its plain code wraps samples modulo
// 1024 and other vector code saturates. So the answer depends on the code that this libjpeg runs.
// `coefficients` and `quant` are in natural order.
bool SamplesAreDefined(const std::int16_t* coefficients, const std::uint16_t* quant);

}  // namespace sluice::fuzz
