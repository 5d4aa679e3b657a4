// Text of files on a terminal or a page. Keys, class names and messages hold whatever bytes a file
// had; none of them may act as a command, hide, or change the order in which others are read.
//
// What is written is valid UTF-8. Controls below U+0020 and bytes that are no UTF-8 become \xNN.
// U+007F to U+009F, the separators of lines and paragraphs, and what cannot be seen (marks of
// direction, blanks of no width, Unicode's other ignorable characters) become \uNNNN, in two parts
// above U+FFFF, which is how JSON writes them.
#pragma once

#include <string>
#include <string_view>

namespace sluice::cli {

// Printable() of output.h writes tabs and line feeds as \t and \n; this one leaves them.
std::string PrintableLines(std::string_view text);

}  // namespace sluice::cli
