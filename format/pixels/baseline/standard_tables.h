// The tables that the standard gives as examples (T.81, Annex K), which nearly every encoder uses:
// 0 for luminance, 1 for chrominance.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/pixels/baseline/huffman.h"

namespace sluice::baseline {

inline constexpr std::size_t kStandardTables = 2;

const HuffmanSpec& StandardSpec(std::size_t number, bool ac);

// Which of the standard's tables this is; kStandardTables if it is none of them.
std::size_t StandardNumber(const HuffmanSpec& spec, bool ac);

// Quantisation steps in natural order, scaled to a quality of 1 to 100 by libjpeg's rule and
// clamped to the 8 bits that baseline has.
void StandardSteps(std::size_t number, int quality, std::int16_t* steps);

}  // namespace sluice::baseline
