#include "tools/cli/printable.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <sluice/shown_text.h>

#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::cli {
namespace {

// Decodes the code point at the start of `text`. Returns its bytes, or 0 if it is not UTF-8.
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

// C1 controls; Default_Ignorable_Code_Point of Unicode 15, which includes all marks of direction;
// the separators of lines and paragraphs; interlinear annotation.
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

// The length of the text's beginning in which every byte is a printable ASCII character.
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

}  // namespace sluice::cli
