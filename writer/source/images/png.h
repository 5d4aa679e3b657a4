// A PNG file as a mask: values, not colours.
#pragma once

#include <cstdint>
#include <vector>

#include "format/disk/bytes.h"

namespace sluice {

// Values as the file stores them: palette indices, grey values or colours. Values of 1, 2 or 4 bits
// go up to 1, 3 or 15. Rows have no padding; 16-bit values are native-endian.
struct MaskPicture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 0;     // 1 (grey, palette), 2 (grey and alpha), 3 or 4
  std::uint32_t value_bytes = 1;  // 1 or 2
  std::vector<std::uint8_t> pixels;
};

// Throws an Error whose sentence() says what is wrong with the file. kLimit if it has more than
// `max_pixels`, before memory is allocated.
MaskPicture DecodeMask(Bytes file, std::uint64_t max_pixels);

}  // namespace sluice
