// Text on an HTML page.
#pragma once

#include <string>

namespace sluice::cli {

// PrintableLines() with HTML's characters escaped, for text and attributes in either kind of
// quotes.
std::string HtmlEscaped(const std::string& text);

}  // namespace sluice::cli
