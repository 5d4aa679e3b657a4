// Coefficients as a payload of codec `packed`, and back.
#pragma once

#include "format/pixels/packed/coefficients.h"

namespace sluice::packed {

std::vector<std::byte> Pack(const Coefficients& coefficients);

// All of a payload's coefficients, looking at every rule of FORMAT.md, "Packed"; or what is wrong.
Defect Unpack(Bytes payload, Coefficients& coefficients);

}  // namespace sluice::packed
