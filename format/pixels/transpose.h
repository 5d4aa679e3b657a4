// Transposes a picture by whole pixels.
#pragma once

#include "format/pixels/decode.h"

namespace sluice {

// Writes the transpose of a picture of width x height pixels. The picture has the target's layout;
// `value_bytes` is the size of a value.
void TransposePixels(const std::uint8_t* picture, std::uint32_t width, std::uint32_t height,
                     const PixelTarget& target, std::size_t value_bytes) noexcept;

}  // namespace sluice
