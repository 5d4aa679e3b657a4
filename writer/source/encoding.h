// Texts in encodings from before UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// `text` in UTF-8. Throws Error(kUnsupported) if the encoding is not one of those that label files
// have (ISO-8859, Windows', GB, Big5, Shift_JIS, EUC, KOI8, UTF-16) or the system cannot convert
// it; Error(kCorrupt) if the text is not in it.
std::string FromEncoding(std::string_view text, std::string encoding);

}  // namespace sluice
