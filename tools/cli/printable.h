// Text from files, for a terminal or a page. Keys, class names and messages hold whatever bytes a
// file had. None of them may act as a command, be invisible, or change the order in which other
// text is read.
//
// The result is valid UTF-8. Controls below U+0020 and bytes that are not UTF-8 become \xNN. U+007F
// to U+009F, the separators of lines and paragraphs, and invisible characters (marks of direction,
// blanks of no width, Unicode's other ignorable characters) become \uNNNN; above U+FFFF in two
// parts, as JSON writes them.
#pragma once

#include <string>
#include <string_view>

namespace sluice::cli {

// Printable() of output.h writes tabs and line feeds as \t and \n; this function keeps them.
std::string PrintableLines(std::string_view text);

}  // namespace sluice::cli
