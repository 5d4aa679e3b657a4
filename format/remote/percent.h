// Percent-encoding of RFC 3986, as signatures and URLs need it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// All bytes but letters, digits, - _ . ~ as %XX. With `keep_slash` a path: / stays.
std::string PercentEncoded(std::string_view text, bool keep_slash);

// The reverse. Nothing if a % is not followed by two hexadecimal digits.
std::optional<std::string> PercentDecoded(std::string_view text);

}  // namespace sluice
