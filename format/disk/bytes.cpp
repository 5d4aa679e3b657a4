#include "format/disk/bytes.h"

#include <algorithm>

#include "format/ascii.h"

namespace sluice {

bool AllZero(Bytes bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::string HexOf(Bytes bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    const auto value = static_cast<unsigned>(b);
    text += {kHexDigits[value >> 4], kHexDigits[value & 15]};
  }
  return text;
}

bool FromHex(std::string_view text, Id128& id) noexcept {
  if (text.size() != 2 * id.bytes.size() || text.find_first_not_of(kHexDigits) != text.npos) {
    return false;
  }
  for (std::size_t i = 0; i < id.bytes.size(); ++i)
    id.bytes[i] = *ParseNumber<std::uint8_t>(text.substr(2 * i, 2), 16);
  return true;
}

}  // namespace sluice
