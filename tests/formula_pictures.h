// Two pictures computed by formulas, which formula_pictures.py repeats for scripts, and the
// checksum with which tests compare results with those of other libraries.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::test {

inline constexpr std::uint32_t kFormulaWidth = 40;
inline constexpr std::uint32_t kFormulaHeight = 30;

// Picture 0 looks like noise and has nearly every value. Picture 1 has gradients from 60 to 189,
// which start anew where they end. Pixels are interleaved.
inline std::vector<std::uint8_t> FormulaPicture(int number, std::uint32_t channels) {
  std::vector<std::uint8_t> values;
  for (std::uint32_t y = 0; y < kFormulaHeight; ++y) {
    for (std::uint32_t x = 0; x < kFormulaWidth; ++x) {
      for (std::uint32_t c = 0; c < channels; ++c) {
        const std::uint32_t value = number == 0 ? (x * 37 + y * 59 + c * 83 + x * y * (c + 1)) % 256
                                                : 60 + (x * 3 + y * 2 + c * 11) % 130;
        values.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  return values;
}

// zlib's crc32.
inline std::uint32_t Crc32(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t crc = ~0U;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0);
  }
  return ~crc;
}

}  // namespace sluice::test
