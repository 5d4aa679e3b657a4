// Escapes text whose bytes come from files, prints it, and writes whole files.
//
// Text is decoded as UTF-8 one character at a time; runs of plain ASCII, of which most text
// consists, are copied at once. A file is written under a temporary name in its own folder and
// renamed, so that a full disk or a crash leaves the old content.
#include "tools/cli/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <sluice/error.h>
#include <sluice/shown_text.h>

#include "tools/cli/quantity.h"

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

namespace {

// Decodes the code point at the start of `text`. Returns its length in bytes, or 0 if the text does
// not begin with valid UTF-8.
std::size_t Decode(std::string_view text, std::uint32_t& code) {
  const auto lead = static_cast<std::uint8_t>(text[0]);
  const std::size_t bytes = lead < 0x80   ? 1
                            : lead < 0xC0 ? 0
                            : lead < 0xE0 ? 2
                            : lead < 0xF0 ? 3
                                          : 4;
  if (bytes == 0 || lead >= 0xF8 || bytes > text.size()) return 0;
  code = bytes == 1 ? lead : lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if ((byte & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte & 0x3F);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[bytes] || code > 0x10FFFF || surrogate ? 0 : bytes;
}

struct Range {
  std::uint32_t first, last;
};

// DEL and the C1 controls; Default_Ignorable_Code_Point of Unicode 15, which includes all marks of
// direction; the separators of lines and paragraphs; interlinear annotation.
constexpr Range kHidden[] = {
    {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},   {0x115F, 0x1160},
    {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E}, {0x2060, 0x206F},
    {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

bool IsHidden(std::uint32_t code) {
  return std::any_of(std::begin(kHidden), std::end(kHidden), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

std::string EscapedCode(std::uint32_t code) {
  if (code < 0x10000) return Format("\\u%04x", code);
  code -= 0x10000;
  return Format("\\u%04x\\u%04x", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
}

// The length of the longest prefix in which every byte is a printable ASCII character.
std::size_t PlainRun(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && *at >= ' ' && *at < 0x7F)
    ++at;
  return static_cast<std::size_t>(at - text.data());
}

std::string Shown(std::string_view text, bool one_line) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    if (const std::size_t run = PlainRun(text); run > 0) {
      shown += text.substr(0, run);
      text.remove_prefix(run);
      continue;
    }
    std::uint32_t code = 0;
    const std::size_t bytes = Decode(text, code);
    const bool breaks = text[0] == '\n' || text[0] == '\t';
    if (breaks && one_line) {
      shown += code == '\n' ? "\\n" : "\\t";
    } else if (bytes == 0 || (code < 0x20 && !breaks)) {
      shown += Format("\\x%02x", static_cast<unsigned>(static_cast<std::uint8_t>(text[0])));
    } else if (code >= 0x7F && IsHidden(code)) {
      shown += EscapedCode(code);
    } else {
      shown += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return shown;
}

}  // namespace

std::string Printable(std::string_view text) {
  return Shown(ShownText(text), true);
}

std::string PrintableLines(std::string_view text) {
  return Shown(text, false);
}

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

bool WriteAll(int file, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

namespace {

void WriteInto(int file, std::string_view text, const std::filesystem::path& path) {
  int error = file >= 0 && WriteAll(file, text) ? 0 : errno;
  if (file >= 0 && close(file) != 0 && error == 0) error = errno;
  if (error == 0) return;
  throw Error(ErrorCode::kIo, path.string(),
              "cannot be written: " + std::generic_category().message(error));
}

// Creates a file in the folder of `target`, under a new name, which it stores in `name`. Returns
// its descriptor or, if it cannot be created, a negative number; errno then has the reason.
int NewFileBeside(const std::filesystem::path& target, std::filesystem::path& name) {
  for (int number = 0;; ++number) {
    name = target.parent_path() / ("." + target.filename().string() + "." +
                                   std::to_string(getpid()) + "-" + std::to_string(number));
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

}  // namespace

void WriteWholeFile(const std::filesystem::path& path, std::string_view text) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {  // a pipe, /dev/stdout
    WriteInto(open(path.c_str(), O_WRONLY | O_CLOEXEC), text, path);
    return;
  }
  const fs::path target = fs::exists(status) ? fs::canonical(path) : path;
  fs::path temporary;
  const int file = NewFileBeside(target, temporary);
  try {
    WriteInto(file, text, path);
    fs::rename(temporary, target, error);
    if (error) throw Error(ErrorCode::kIo, path.string(), "cannot be written: " + error.message());
  } catch (const Error&) {
    if (file >= 0) fs::remove(temporary, error);
    throw;
  }
}

std::ifstream OpenToRead(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error(ErrorCode::kNotFound, path.string(),
                "cannot be opened: " + std::generic_category().message(errno));
  return file;
}

}  // namespace sluice::cli
