#include "tools/cli/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "tools/cli/printable.h"

namespace sluice::cli {

void PrintOut(std::string_view text) {
  const std::string shown = PrintableLines(text);
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size() ||
      std::fflush(stdout) != 0) {
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

std::string WrappedParagraphs(std::string_view text, std::size_t columns) {
  std::string lines, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) lines += Wrapped(paragraph, columns) + "\n";
    paragraph.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with(' ')) {
      end_paragraph();
      lines += std::string(line) + "\n";
    } else {
      paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
    }
  }
  end_paragraph();
  if (!lines.empty()) lines.pop_back();
  return lines;
}

}  // namespace sluice::cli
