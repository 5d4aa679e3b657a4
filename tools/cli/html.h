// Text on a page.
#pragma once

#include <string>

namespace sluice::cli {

// HTML's own characters escaped, for text and for attributes in either kind of quotes.
std::string HtmlEscaped(const std::string& text);

}  // namespace sluice::cli
