// Packs coefficients as a payload of codec `packed`, and unpacks them.
#pragma once

#include "format/pixels/packed/coefficients.h"

namespace sluice::packed {

std::vector<std::byte> Pack(const Coefficients& coefficients);

// Unpacks all of a payload's coefficients and checks every rule of FORMAT.md, "Packed". Returns
// null, or what is wrong.
Defect Unpack(Bytes payload, Coefficients& coefficients);

}  // namespace sluice::packed
