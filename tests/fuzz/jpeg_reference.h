// What libjpeg makes of a JPEG file, for comparison: its components before any upsampling.
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
  bool taken = false;  // without a warning that it makes pixels up
  std::string why;     // it was not
  bool ycc_or_grey = false;
  std::vector<ReferencePlane> planes;
};

// By the accurate integer transform, whole, at full size.
Reference DecodeByLibjpeg(Bytes file);

// Whether a block's samples are the same in all that is compared. Within the range that a picture's
// coefficients have they always are. Beyond it libjpeg's vector code multiplies, adds and, in
// blocks whose rows but the first are zero, doubles modulo 2^16, where its plain code wraps samples
// modulo 1024 and other sets saturate; so the answer depends on which of them this libjpeg runs.
// `coefficients` and `quant` are in natural order.
bool SamplesAreDefined(const std::int16_t* coefficients, const std::uint16_t* quant);

}  // namespace sluice::fuzz
