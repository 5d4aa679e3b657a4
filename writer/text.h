// File names are bytes; JSON and tables are text.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// `bytes` as UTF-8: what is valid stays, each other byte becomes "\xNN".
std::string ToUtf8(std::string_view bytes);

// Whether ToUtf8() leaves it as it is.
bool IsUtf8(std::string_view bytes) noexcept;

// As ToUtf8(), with each backslash doubled, so that UnescapeBytes() gives the same bytes back.
std::string EscapeBytes(std::string_view bytes);
std::string UnescapeBytes(std::string_view text);

// A cell of a table of tab-separated values: tab, newline, carriage return and backslash become
// "\t",
// "\n", "\r" and "\\"; every other byte stays.
std::string ToTsvCell(std::string_view bytes);

}  // namespace sluice
