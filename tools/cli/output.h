// The output of the programs: standard output, where a full disk or a closed descriptor becomes an
// error, and files that are written whole.
//
// Text that comes from files (keys, class names, messages) holds whatever bytes a file had. It must
// not act as a terminal's command, be invisible, or change the order in which other text is read,
// so all of it is escaped. PrintOut() and PrintJson() escape what they print; text for standard
// error or for HTML goes through Printable(), PrintableLines() or HtmlEscaped() first.
//
// The results are valid UTF-8. Controls below U+0020 and bytes that are not UTF-8 become \xNN (in
// JSON: \uNNNN and U+FFFD). U+007F to U+009F, the separators of lines and paragraphs, and invisible
// characters (marks of direction, blanks without width, Unicode's other ignorable characters)
// become \uNNNN; above U+FFFF in two parts, as JSON writes them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace sluice::cli {

// Writes PrintableLines(text) and flushes. Throws Error(kIo) if the text did not arrive.
void PrintOut(std::string_view text);

// Writes one JSON value, indented, and a line end. Bytes that are not UTF-8 (a key may hold any)
// become U+FFFD; the characters that Printable() escapes become JSON's escapes.
void PrintJson(const nlohmann::ordered_json& value);

// `text`, escaped, on one line: tabs and line feeds become \t and \n. Secrets in URLs are left out.
std::string Printable(std::string_view text);

// `text`, escaped, except that tabs and line feeds stay. Secrets in URLs stay, too.
std::string PrintableLines(std::string_view text);

// PrintableLines() with HTML's characters escaped, for text and for attributes in either kind of
// quotes.
std::string HtmlEscaped(const std::string& text);

// Text in lines of at most `columns`, broken at spaces; a longer word gets its own line.
std::string Wrapped(std::string_view text, std::size_t columns);

// The same for each paragraph of a text. Paragraphs are separated by empty lines; a line that
// begins with a space stays as it is.
std::string WrappedParagraphs(std::string_view text, std::size_t columns);

// The width of --help in columns, and the column where the text about an option begins.
inline constexpr std::size_t kHelpColumns = 88, kHelpIndent = 24;

// Writes a file whole: an existing file keeps its content until the new one is complete, and no
// other file is touched. If the path is a link, the file that it leads to is written; a pipe or a
// device gets the text. Throws Error(kIo).
void WriteWholeFile(const std::filesystem::path& path, std::string_view text);

// Writes all bytes to an open file. Returns false, with errno, if that fails.
bool WriteAll(int file, std::string_view bytes) noexcept;

// Opens a file for reading. Throws Error(kNotFound) with the system's reason.
std::ifstream OpenToRead(const std::filesystem::path& path);

}  // namespace sluice::cli
