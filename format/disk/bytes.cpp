#include "format/disk/bytes.h"

#include <algorithm>

namespace sluice {

bool AllZero(Bytes bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::string ToHex(const Id128& id) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(32);
  for (const std::uint8_t byte : id.bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

bool FromHex(std::string_view text, Id128& id) noexcept {
  if (text.size() != 32) return false;
  for (std::size_t i = 0; i < 32; ++i) {
    const char c = text[i];
    std::uint8_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint8_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint8_t>(c - 'a' + 10);
    } else {
      return false;
    }
    if (i % 2 == 0) {
      id.bytes[i / 2] = static_cast<std::uint8_t>(digit << 4);
    } else {
      id.bytes[i / 2] = static_cast<std::uint8_t>(id.bytes[i / 2] | digit);
    }
  }
  return true;
}

}  // namespace sluice
