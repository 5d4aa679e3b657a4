// Writing to standard output so that a full disk or a closed descriptor is noticed.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace sluice::cli {

// Writes PrintableLines(text) and flushes. Throws Error(kIo) if it did not arrive.
void PrintOut(std::string_view text);

// Writes one JSON value, indented, and a line's end. Bytes that are no UTF-8 (a key may hold any)
// become U+FFFD, and what Printable() escapes is an escape of JSON's here.
void PrintJson(const nlohmann::ordered_json& value);

// `text` on one line, with what acts on a terminal, hides, or turns text written as \n, \t, \xNN or
// \uNNNN (tools/cli/printable.h): keys come from file names, class names from manifests.
std::string Printable(std::string_view text);

// Text in lines of at most `columns`, broken at spaces; a longer word has a line of its own.
std::string Wrapped(std::string_view text, std::size_t columns);

}  // namespace sluice::cli
