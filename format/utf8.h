// UTF-8 as The Unicode Standard defines it: no overlong sequences, no surrogates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

// The length of the well-formed sequence that `text` begins with (The Unicode Standard, table 3-7),
// or 0.
inline std::size_t Utf8SequenceLength(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const auto within = [&byte](std::size_t i, std::uint8_t low, std::uint8_t high) {
    return byte(i) >= low && byte(i) <= high;
  };
  if (text.empty()) return 0;
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return within(1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const std::uint8_t low = lead == 0xE0 ? 0xA0 : 0x80;
    const std::uint8_t high = lead == 0xED ? 0x9F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const std::uint8_t low = lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t high = lead == 0xF4 ? 0x8F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

// The number of bytes before the first that is not UTF-8; all of them if `text` is valid.
inline std::size_t Utf8Prefix(std::string_view text) noexcept {
  std::size_t valid = 0;
  while (const std::size_t length = Utf8SequenceLength(text.substr(valid)))
    valid += length;
  return valid;
}

}  // namespace sluice
