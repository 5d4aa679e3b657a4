#include "tools/cli/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "tools/cli/quantity.h"

namespace sluice::cli {

void PrintOut(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::kIo, "standard output",
                "cannot be written to: " + std::generic_category().message(errno));
  }
}

void PrintJson(const nlohmann::ordered_json& value) {
  PrintOut(value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

std::string Wrapped(std::string_view text, std::size_t columns) {
  std::string lines;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (column > 0) {
      const bool fits = column + 1 + end <= columns;
      lines += fits ? ' ' : '\n';
      column = fits ? column + 1 : 0;
    }
    lines += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string Printable(std::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '\n') {
      printable += "\\n";
    } else if (letter == '\t') {
      printable += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      printable += Format("\\x%02x", byte);
    } else {
      printable += letter;
    }
  }
  return printable;
}

}  // namespace sluice::cli
