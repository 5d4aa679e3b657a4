// Writing to standard output so that a full disk or a closed descriptor is noticed.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace sluice::cli {

// Writes the text and flushes. Throws Error(kIo) where it did not arrive.
void PrintOut(std::string_view text);

// Writes one JSON value, indented, and a line's end. Bytes that are no UTF-8 (a key may hold any)
// become U+FFFD.
void PrintJson(const nlohmann::ordered_json& value);

// `text` with control characters written as \n, \t or \xNN: keys come from file names, and what
// they hold must not reach a terminal as commands.
std::string Printable(std::string_view text);

// Text in lines of at most `columns`, broken at spaces; a longer word has a line of its own.
std::string Wrapped(std::string_view text, std::size_t columns);

}  // namespace sluice::cli
