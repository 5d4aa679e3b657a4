#include "tools/cli/html.h"

#include "tools/cli/printable.h"

namespace sluice::cli {

std::string HtmlEscaped(const std::string& text) {
  std::string escaped;
  for (const char letter : PrintableLines(text)) {
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += letter;
    }
  }
  return escaped;
}

}  // namespace sluice::cli
