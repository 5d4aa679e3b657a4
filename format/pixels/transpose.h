// Rows to columns, of whole pixels.
#pragma once

#include "format/pixels/decode.h"

namespace sluice {

// Writes the transpose of a picture of width x height pixels, laid out as the target is, whose
// values have that many bytes.
void TransposePixels(const std::uint8_t* picture, std::uint32_t width, std::uint32_t height,
                     const PixelTarget& target, std::size_t value_bytes) noexcept;

}  // namespace sluice
