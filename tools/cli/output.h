// Writes to standard output so that a full disk or a closed descriptor is noticed.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace sluice::cli {

// Writes PrintableLines(text) and flushes. Throws Error(kIo) if the text did not arrive.
void PrintOut(std::string_view text);

// Writes one JSON value, indented, and a line end. Bytes that are not UTF-8 (a key may hold any)
// become U+FFFD; characters that Printable() escapes become JSON escapes here.
void PrintJson(const nlohmann::ordered_json& value);

// `text` on one line. Characters that act on a terminal, are invisible, or turn text round are
// written as \n, \t, \xNN or \uNNNN (tools/cli/printable.h): keys come from file names, class names
// from manifests.
std::string Printable(std::string_view text);

// Text in lines of at most `columns`, broken at spaces; a longer word gets its own line.
std::string Wrapped(std::string_view text, std::size_t columns);

// The same for each paragraph of a text. Paragraphs are separated by empty lines; a line that
// begins with a space stays as it is.
std::string WrappedParagraphs(std::string_view text, std::size_t columns);

// The columns of --help, and of these the ones before the text about an option.
inline constexpr std::size_t kHelpColumns = 88, kHelpIndent = 24;

}  // namespace sluice::cli
